// What the suites have in common, for each file of this one.
@_exported import TestSupport
