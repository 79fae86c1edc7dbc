"""The resources of a process: cores, memory, forks, and cancellation by its caller."""
