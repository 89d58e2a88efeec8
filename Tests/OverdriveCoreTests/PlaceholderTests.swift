import Testing

@Test("OverdriveCore is imported")
func imported() {}
