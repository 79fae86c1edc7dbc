"""The order of what is scored, and the threads that hand batches to a child process."""
