"""Rows from whatever holds them; only here are rows judged.

``arguments`` (which columns, read how), ``containers``, ``frames``, ``tables`` and ``columns`` (one column of numbers out of
anything), ``labels`` (which value is the event), ``membership`` (the group of a row), ``align`` (pandas' indexes), ``classes``
(tables of class probabilities), ``rows`` (outcomes, predictions and weights together), ``faults`` (what can be wrong, and what
is said of it) and ``remedies`` (said in the words of Python or of the shell).
"""
