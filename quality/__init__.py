"""Quality on judged pages: what the detectors get right, and the floors it must not fall below."""
