"""The service under load: ordinary load at saturation and beyond, or among hostile clients."""
