"""The files with which a job is deployed on Kubernetes."""
