"""What a process computes with: its cores and memory, forks of it, and how a caller stops it."""
