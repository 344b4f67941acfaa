"""Styles: pages made by the same template (Urvoy, Lavergne and Filoche, AIRWeb 2006)."""
