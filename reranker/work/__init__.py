"""Work done sentence by sentence: a source of sentences, a job, a sink for the answers, and the
loop that every command, Python function and worker of a cluster shares."""
