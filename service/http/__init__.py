"""HTTP in and out: the application, its routes, answers, streams, middleware and connections."""
