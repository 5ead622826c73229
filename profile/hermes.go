package profile

import (
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"rcsupervisor/internal/dotenv"
	"rcsupervisor/internal/ownerfs"
)

// Hermes' own files in a home. They are read, and never written from here.
const (
	hermesEnv    = ".env"
	hermesConfig = "config.yaml"
)

// HermesNames are the variables by which the Rocket.Chat plugins for Hermes
// are given a bot's credentials; with one of them set Hermes connects itself.
// The names are those of HalfbitStudio/hermes-plugin-rocketchat and its forks,
// and of laevateinzzl/hermes-rocketchat-bot.
var HermesNames = []string{
	"ROCKETCHAT_TOKEN", "ROCKETCHAT_AUTH_TOKEN", "ROCKETCHAT_ACCESS_TOKEN", "ROCKETCHAT_PASSWORD",
	"ROCKETCHAT_TEAM_TOKEN", "ROCKETCHAT_TEAM_AUTH_TOKEN", "ROCKETCHAT_TEAM_ACCESS_TOKEN",
}

// hermesPlatforms are what the plugins call themselves under platforms.
var hermesPlatforms = []string{"rocketchat", "rocketchat_team", "rocket_chat", "rocket-chat"}

// checkHermes fails for a Hermes agent whose home still has Hermes connect as
// a bot on its own: the two would answer everything twice, or throw each other
// out.
func (p *Profile) checkHermes(home *ownerfs.Dir) error {
	p.Hermes, p.HermesConfig = readHermes(home)
	if !p.Settings.Agent.IsHermes() || len(p.Hermes) == 0 {
		return nil
	}
	return &Fault{
		Home: p.Home, Err: &ownerfs.Error{Path: p.Home, Err: ErrBoth, Detail: strings.Join(p.Hermes, "; ")},
		Try: "rcsupervisor import NAME --scrub",
	}
}

// IsHermes reports whether what answers is Hermes, which reads the home's
// config.yaml and .env.
func (a AgentSettings) IsHermes() bool {
	return a.Kind != "echo" && len(a.Command) > 0 && filepath.Base(a.Command[0]) == "hermes"
}

// readHermes reads Hermes' own two files: what sets Hermes up for Rocket.Chat,
// and what of config.yaml is to be warned of. They are read as Hermes would:
// through links, and whatever their mode. What the owner can't read, Hermes
// can't either.
func readHermes(home *ownerfs.Dir) (found []string, c HermesConfig) {
	if data, err := home.ReadFollowing(hermesEnv, MaxFile); err == nil {
		for _, name := range envCredentials(data) {
			found = append(found, hermesEnv+": "+name)
		}
	}
	c = defaultHermesConfig()
	if data, err := home.ReadFollowing(hermesConfig, MaxFile); err == nil {
		root := hermesDocument(data)
		for _, key := range configPlatforms(root) {
			found = append(found, hermesConfig+": "+key)
		}
		c = parseHermesConfig(root)
	}
	return found, c
}

// hermesDocument parses a config.yaml within bounds; nil where there is
// nothing that Hermes could read either.
func hermesDocument(data []byte) *yaml.Node {
	var doc yaml.Node
	if countAny(data, "\n,:[]{}-?") > maxIndicators {
		return nil
	}
	err := yaml.Load(data, &doc, yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(100))))
	if err != nil || len(doc.Content) == 0 {
		return nil
	}
	return doc.Content[0]
}

// envCredentials are the names of HermesNames that a .env gives a value.
func envCredentials(data []byte) []string {
	f, err := dotenv.Parse(data)
	var found []string
	for _, name := range dotenv.Names(data) {
		if !slices.Contains(HermesNames, name) {
			continue
		}
		// What another of Hermes' readers alone finds has no value here.
		if v, ok := f.Get(name); ok && err == nil && v == "" {
			continue
		}
		found = append(found, name)
	}
	return found
}

// configPlatforms are the platforms that a config.yaml gives credentials or
// turns on.
func configPlatforms(root *yaml.Node) []string {
	var found []string
	for _, path := range []string{"platforms", "gateway.platforms"} {
		platforms := lookup(root, path)
		for _, name := range hermesPlatforms {
			if platforms != nil && connects(value(platforms, name)) {
				found = append(found, path+"."+name)
			}
		}
	}
	return found
}

// lookup returns what stands under a dotted path, nil for nothing.
func lookup(n *yaml.Node, path string) *yaml.Node {
	for part := range strings.SplitSeq(path, ".") {
		if n == nil {
			return nil
		}
		n = value(n, part)
	}
	return n
}

func connects(platform *yaml.Node) bool {
	if platform == nil {
		return false
	}
	if on := value(platform, "enabled"); on != nil {
		switch strings.ToLower(on.Value) {
		case "false", "no", "off", "0":
			return false
		case "true", "yes", "on", "1":
			return true
		}
	}
	for _, key := range []string{"token", "auth_token", "access_token", "password"} {
		if v := value(platform, key); v != nil && v.Value != "" && !isNull(v) {
			return true
		}
	}
	extra := value(platform, "extra")
	return extra != nil && connects(extra)
}

// HermesLeft lists what of a home sets Hermes up to speak to Rocket.Chat
// itself, as [Profile.Hermes] does.
func HermesLeft(home *ownerfs.Dir) []string {
	found, _ := readHermes(home)
	return found
}
