"""What training reads: batches, trees on disk, word vectors."""
