"""What a job's functions need beside the job: modules, archives, packages, files."""
