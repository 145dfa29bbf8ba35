"""Studies of validity: do the tests reject as often as they say, do the intervals cover? Not part of the installed package."""
