@_exported public import Overdrive
