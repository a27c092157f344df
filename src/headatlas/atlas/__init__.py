"""The container: what an atlas holds, where it lies, and the engine that runs and resumes stages."""
