"""The container: what an atlas holds, where it is stored, and the engine that runs and resumes stages."""
