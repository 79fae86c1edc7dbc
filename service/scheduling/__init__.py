"""The order of scoring and reading, and the threads that hand work to child processes."""
