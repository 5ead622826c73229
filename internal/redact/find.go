package redact

// find appends to spans where secrets lie in text, in order, those that overlap
// as one. Every position is looked at, also inside a secret: where
// two overlap, the rest of the second is not left standing.
func find[T string | []byte](r *Redactor, text T, spans []span) []span {
	p := r.p.Load()
	if p == nil || len(text) < MinLen {
		return spans
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.count == 0 {
		return spans
	}
	x := head(text) << 8 // the first turn of the loop adds its last byte again
	for i := 0; i+MinLen <= len(text); i++ {
		x = x>>8 | uint64(text[i+MinLen-1])<<56
		if !p.heads.has(x) {
			continue
		}
		if n := match(p, x, text[i:]); n > 0 {
			spans = appendSpan(spans, span{i, i + n})
		}
	}
	return spans
}

// match returns the length of the longest pattern that text begins with.
func match[T string | []byte](p *patterns, head uint64, text T) int {
	for _, pt := range p.byHead[head] {
		if n := len(pt.text); n <= len(text) && string(text[:n]) == pt.text {
			return n
		}
	}
	return 0
}

func appendSpan(spans []span, s span) []span {
	if n := len(spans); n > 0 && spans[n-1].to > s.from {
		spans[n-1].to = max(spans[n-1].to, s.to)
		return spans
	}
	return append(spans, s)
}

// unfinished returns the earliest position from which on text may be the
// beginning of a secret that has not ended, len(text) for none.
func unfinished(r *Redactor, text []byte) int {
	p := r.p.Load()
	if p == nil {
		return len(text)
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.count == 0 {
		return len(text)
	}
	for i := max(0, len(text)-p.longest+1); i < len(text); i++ {
		rest := text[i:]
		if len(rest) < MinLen {
			if p.starts.has(start(rest)) {
				return i
			}
			continue
		}
		x := head(rest)
		if !p.heads.has(x) {
			continue
		}
		for _, pt := range p.byHead[x] {
			if len(pt.text) > len(rest) && pt.text[:len(rest)] == string(rest) {
				return i
			}
		}
	}
	return len(text)
}
