@_exported public import OverdriveCore
