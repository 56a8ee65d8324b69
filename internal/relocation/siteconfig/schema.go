package siteconfig

import _ "embed"

//go:embed schema.json
var schema string

// Schema is the JSON schema of a SiteConfig. It is generated from the type by hack/siteschema.
func Schema() string { return schema }
