"""The data of training: batches, trees on disk, word vectors."""
