// Machine.swift: what was found of this machine. Comes with the engine's topology.
