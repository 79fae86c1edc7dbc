"""The best weights for scored lists with gold trees."""
