package healthcheck

// A Warning is something a person should know of a profile that runs all the
// same. Code is stable, Text one sentence.
type Warning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}
