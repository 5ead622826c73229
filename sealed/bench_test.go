package sealed

import (
	"bytes"
	"io"
	"testing"

	"filippo.io/age"
)

// BenchmarkSeal and BenchmarkUnseal stand beside age on the same bytes.
func BenchmarkSeal(b *testing.B) {
	host, recovery := newIdentity(b), newIdentity(b)
	k := keyring(b, host, recovery)
	e := envelope("alice")
	b.Run("envelope", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			mustSeal(b, e, k)
		}
	})
	plain := benchmarkPlain(b, host, k)
	b.Run("baseline age", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sealText(b, string(plain), k.recipients)
		}
	})
}

func BenchmarkUnseal(b *testing.B) {
	host, recovery := newIdentity(b), newIdentity(b)
	k := keyring(b, host, recovery)
	data := mustSeal(b, envelope("alice"), k)
	b.Run("envelope", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Unseal(data, host, "alice"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("baseline age", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r, err := age.Decrypt(bytes.NewReader(data), host.keys()...)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadAll(r); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkWrite is a seal with all that makes it safe, the disk included.
func BenchmarkWrite(b *testing.B) {
	k := keyring(b, newIdentity(b))
	s := newStore(b, "alice")
	for b.Loop() {
		mustWrite(b, s, k)
	}
}

func benchmarkPlain(b *testing.B, id *Identity, k *Keyring) []byte {
	b.Helper()
	plain, err := decrypt(mustSeal(b, envelope("alice"), k), id)
	if err != nil {
		b.Fatal(err)
	}
	return plain
}
