"""The classes that users' functions derive from, by what they are for."""
