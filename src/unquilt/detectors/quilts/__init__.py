"""Pages stitched together from patches of other pages (Najork, SIGIR 2012)."""
