"""What is scored next, and the threads that hand it to a child process."""
