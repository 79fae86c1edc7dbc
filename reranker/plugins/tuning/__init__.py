"""The best weights for scored lists that have gold trees."""
