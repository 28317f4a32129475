/** Mistakes that would fail every call are found at start: each with its position, without secrets. */
import { describe, expect, test } from 'bun:test'
import { prepareHead } from '../../http/client/request-head.ts'
import { providers } from '../../providers/index.ts'
import { readSettings } from '../read-settings.ts'
import { unsentHeaders } from '../../core/transport.ts'

const read = (text: string, environment: Record<string, string> = {}) =>
  readSettings({ text, file: 'c.yaml', environment, providers })
const entry = (params: string, name = 'm') =>
  `model_list:\n  - model_name: ${name}\n    proxy_params: { model: ${params} }\n`
const headers = (map: string) => entry(`groq/x, api_key: k, extra_headers: { ${map} }`)
const at = (base: string, more = '') => entry(`custom_openai/x, api_base: "${base}"${more}`)
const good = entry('groq/x, api_key: k')
const aliases = (map: string) => `${good}router_settings: { model_group_alias: { ${map} } }\n`
const fallbacks = (list: string) => `${good}router_settings: { fallbacks: [${list}] }\n`
const general = (settings: string) => `${good}general_settings: { ${settings} }\n`

const mistakes: [string, string, string | string[]][] = [
  [
    'a line break in a header',
    headers('x-team: "a\\nb"'),
    'c.yaml:3:73 model_list.0.proxy_params.extra_headers.x-team: has a line break or another character that no ' +
      'header can carry',
  ],
  ['a header beyond Latin-1', headers('x-team: "日本"'), 'extra_headers.x-team: has a line break or another character'],
  [
    'a header name with a line break',
    headers('"a\\nb": c'),
    'c.yaml:3:65 model_list.0.proxy_params.extra_headers.a\\u000ab: a header name has letters, digits and dashes',
  ],
  [
    'a header that is never sent',
    headers('Content-Length: "5", x-good: y'),
    'c.yaml:3:65 model_list.0.proxy_params.extra_headers.Content-Length: this header is set by the gateway itself',
  ],
  [
    'a key with a line break',
    entry('groq/x, api_key: "hunter2\\n"'),
    'c.yaml:3:45 model_list.0.proxy_params.api_key: has a blank, a line break or a character beyond ASCII, which no ' +
      'key has',
  ],
  ['a key beyond ASCII', entry('groq/x, api_key: hunter2ü'), 'api_key: has a blank, a line break'],
  [
    'an address of one operation',
    at('http://h/v1/chat/completions'),
    'c.yaml:3:55 model_list.0.proxy_params.api_base: ends in `/chat/completions`, which the gateway puts behind it; ' +
      'take that out',
  ],
  ['an address of embeddings', at('http://h/v1/embeddings/'), 'api_base: ends in `/embeddings/`'],
  [
    'a key as shells name it',
    entry('groq/x, api_key: $GROQ_API_KEY'),
    'c.yaml:3:45 model_list.0.proxy_params.api_key: names a variable as shells do, which is not filled in here; ' +
      'write ${GROQ_API_KEY} or os.environ/GROQ_API_KEY',
  ],
  [
    'a name that YAML reads as a number',
    entry('groq/x, api_key: k', '4'),
    'model_list.0.model_name: must be a string; got 4; write it in quotes',
  ],
  [
    'a price in words',
    entry('groq/x, api_key: k, input_cost_per_token: "$1"'),
    'input_cost_per_token: must be dollars for one, a number from 0 to 1; got "$1"',
  ],
  [
    'a user in an address',
    at('http://user:hunter2@h/v1'),
    'c.yaml:3:55 model_list.0.proxy_params.api_base: holds a user or a password',
  ],
  [
    'a query of an address',
    at('http://h/v1?key=hunter2'),
    'c.yaml:3:55 model_list.0.proxy_params.api_base: has a query',
  ],
  ['a fragment of an address', at('http://h/v1#hunter2'), 'api_base: has a part behind `#`'],
  [
    'an address that is a map',
    entry('custom_openai/x, api_base: { a: hunter2 }'),
    'api_base: must be an http:// or https:// address; got a map',
  ],
  [
    'headers that are a text',
    entry('groq/x, api_key: k, extra_headers: "a: hunter2"'),
    'extra_headers: must be a map; got a string',
  ],
  [
    'headers that are a list',
    entry('groq/x, api_key: k, extra_headers: [hunter2]'),
    'extra_headers: must be a map; got a list',
  ],
  ['a header with a map', headers('a: { b: hunter2 }'), 'extra_headers.a: must be a string; got a map'],
  [
    'parameters that are a text',
    'model_list:\n  - { model_name: m, proxy_params: "api_key: hunter2" }\n',
    'proxy_params: must be a map; got a string',
  ],
  [
    'a star that stands for nothing',
    entry('"custom_openai/*", api_base: "http://h"'),
    'c.yaml:3:28 model_list.0.proxy_params.model: has a `*`, and `model_name` has none',
  ],
  ['two stars', entry('"groq/*", api_key: k', '"two/*/*"'), 'c.yaml:2:17 model_list.0.model_name: has several `*`'],
  [
    'two stars at the upstream',
    entry('"groq/*/*", api_key: k', '"two/*"'),
    'model_list.0.proxy_params.model: has several `*`',
  ],
  [
    'an empty model',
    entry('custom_openai/, api_base: "http://h"'),
    'c.yaml:3:28 model_list.0.proxy_params.model: names no model; write custom_openai/ and',
  ],
  ['a blank name', entry('groq/x, api_key: k', '"  "'), 'model_list.0.model_name: must not be blank'],
  [
    'a name with a line break',
    entry('groq/x, api_key: k', '"a\\nb"'),
    'model_list.0.model_name: must not be blank or have line breaks',
  ],
  ['an alias of itself', aliases('a: a'), 'c.yaml:4:44 router_settings.model_group_alias.a: is an alias of itself'],
  ['a circle of aliases', aliases('a: b, b: a'), ['alias.a: `b` is an alias too', 'alias.b: `a` is an alias too']],
  [
    'an alias of an alias',
    aliases('a: b, b: m'),
    'alias.a: `b` is an alias too, and aliases of aliases are not followed',
  ],
  [
    'an alias that JavaScript would lose',
    aliases('__proto__: m'),
    'c.yaml:4:41 router_settings.model_group_alias.__proto__: cannot be a name here',
  ],
  ['an alias of an unknown model', aliases('a: nobody'), 'alias.a: no model is named `nobody`'],
  [
    'an alias of a pattern',
    `${entry('"groq/*", api_key: k', '"g/*"')}router_settings: { model_group_alias: { a: "g/*" } }\n`,
    'alias.a: `g/*` is a pattern; name one model',
  ],
  ['an alias with a star', aliases('"a/*": m'), 'alias.a/*: an alias is one name'],
  [
    'a model that falls back to itself',
    fallbacks('{ m: [m] }'),
    'c.yaml:4:37 router_settings.fallbacks.0.m: `m` would fall back to itself',
  ],
  [
    'a fallback of a pattern',
    fallbacks('{ "m/*": [m] }'),
    'fallbacks.0.m/*: calls never name the pattern `m/*` itself',
  ],
  [
    "a fallback to a pattern's other side",
    `${entry('"groq/*", api_key: k', '"g/*-a"')}router_settings: { fallbacks: [{ g/x-a: [g/x-b] }] }\n`,
    'fallbacks.0.g/x-a: no model is named `g/x-b`',
  ],
  [
    'a database of another kind',
    general('database_url: "mysql://u:hunter2@h/x"'),
    'c.yaml:4:35 general_settings.database_url: must begin with postgres://, postgresql:// or sqlite:',
  ],
  [
    'a database whose password cannot be read',
    general('database_url: "postgres://u:hunter2#@h/x"'),
    'general_settings.database_url: is no address that can be read',
  ],
  [
    'a master key that is no secret',
    general('master_key: sk-changeme-with-hunter2-and-more-of-it'),
    'general_settings.master_key: begins like an example',
  ],
  [
    'a variable with a blank',
    `${good}environment_variables: { "MY KEY": hunter2 }\n`,
    'c.yaml:4:26 environment_variables.MY KEY: the name of a variable has letters, digits',
  ],
  [
    'a variable that is a map',
    `${good}environment_variables: { KEY: { a: hunter2 } }\n`,
    'environment_variables.KEY: must be a string; got a map',
  ],
  [
    'a reference with a blank',
    entry('groq/x, api_key: "os.environ/hunter2 KEY"'),
    'c.yaml:3:45 model_list.0.proxy_params.api_key: `os.environ/` must be followed by the name of an environment ' +
      'variable',
  ],
  [
    'a reference to nothing',
    entry('groq/x, api_key: os.environ/'),
    'api_key: `os.environ/` must be followed by the name',
  ],
  [
    'an unset master key, once',
    general('master_key: os.environ/NOPE'),
    'c.yaml:4:33 general_settings.master_key: the environment variable NOPE is not set',
  ],
  [
    'an unset address, once',
    entry('custom_openai/x, api_base: "${NOPE}/v1"'),
    'api_base: the environment variable NOPE is not set',
  ],
  [
    'a name that every object has',
    entry('groq/x, api_key: os.environ/constructor'),
    'the environment variable constructor is not set',
  ],
  [
    'a second document',
    `${good}---\nmodel_list: []\n`,
    'c.yaml:4:1 file: a second document begins here; the file must hold one',
  ],
  [
    'a duplicate id',
    `model_list:\n${['a', 'b']
      .map(
        name =>
          `  - { model_name: ${name}, proxy_params: { model: groq/x, api_key: k }, ` + `model_info: { id: one } }\n`,
      )
      .join('')}`,
    'c.yaml:3:85 model_list.1.model_info.id: `one` is also the id of c.yaml:2',
  ],
  [
    'an entry that stands twice',
    `model_list: [${'{ model_name: a, proxy_params: { model: groq/x, api_key: k } }, '.repeat(2)}]\n`,
    'c.yaml:1:78 model_list.1: is the same as c.yaml:1; keep one',
  ],
]
for (const [name, text, expected] of mistakes)
  test(`${name} is reported as the only mistake`, () => {
    const found = read(text)
    const wanted = typeof expected === 'string' ? [expected] : expected
    expect(found.mistakes).toEqual(wanted.map(one => expect.stringContaining(one)))
    expect(found.settings).toBeUndefined()
    const said = [...found.mistakes, ...found.warnings].join('\n')
    expect(said).not.toContain('hunter2')
    for (const line of found.mistakes) expect(line).toMatch(/^c\.yaml:\d+:\d+ [^\n]+$/)
  })

test('similar but valid values are accepted', () => {
  const fine = [
    headers('x-team: "Zürich\\t1", authorization: "Bearer a b"'),
    at('http://h:8000/v1/'),
    entry('"custom_openai/*", api_base: "http://h"', '"a/*-b"'),
    entry('groq/x, api_key: k', '"a name: with *"'),
    aliases('a: m, b: m'),
    fallbacks('{ m: [a] }')
      .replace('router_settings: {', 'router_settings: { model_group_alias: { a: g, h: m },')
      .replace('model_list:\n', 'model_list:\n  - { model_name: g, proxy_params: { model: groq/y, api_key: k } }\n'),
    fallbacks('{ "*": [m] }'),
    general('database_url: "sqlite:/tmp/a.db"'),
    `${good}...\n`,
    'model_list:\n  - { model_name: a, proxy_params: &p { model: groq/x, api_key: k } }\n  - { model_name: b, ' +
      'proxy_params: { <<: *p, weight: 2 } }\n',
    '{}\n',
    'model_list: []\n',
  ]
  for (const text of fine) expect([text, read(text).mistakes]).toEqual([text, []])
})

test('a duplicate key is reported with its position, and hides no other mistake', () => {
  const text =
    'model_list:\n  - model_name: a\n    model_name: b\n    proxy_params: { model: gorq/x, api_key: k, api_key: l ' +
    '}\nrouter_settings: { num_retries: -1, retry_after: 1 }\nrouter_settings: { num_retries: -2, ' +
    'retry_after: 1 }\n'
  const found = read(text)
  expect(found.mistakes).toEqual([
    'c.yaml:3:5 model_list.0.model_name: the key `model_name` stands in line 2 already; keep one of them',
    'c.yaml:4:28 model_list.0.proxy_params.model: unknown provider `gorq`, did you mean `groq`?',
    'c.yaml:4:48 model_list.0.proxy_params.api_key: the key `api_key` stands in line 4 already; keep one of them',
    'c.yaml:6:1 router_settings: the key `router_settings` stands in line 5 already; keep one of them',
    'c.yaml:6:33 router_settings.num_retries: must be a number of at least 0; got -2',
  ])
  expect(found.warnings).toEqual([
    expect.stringMatching(/^c\.yaml:6:\d+ router_settings\.retry_after: has no effect here/),
  ])
})

test('the refused headers are those that the HTTP client does not send', () => {
  const given = [
    ...unsentHeaders,
    'x-team',
    'content-type',
    'user-agent',
    'accept',
    'cookie',
    'via',
    'proxy-authorization',
  ]
  const lines = prepareHead({
    url: 'http://h/v1',
    headers: Object.fromEntries(given.map(name => [name, 'canary'])),
  }).post.toString('latin1')
  expect(given.filter(name => !lines.includes(`\r\n${name}: canary`))).toEqual([...unsentHeaders])
  for (const name of given)
    expect([name, read(headers(`${name}: canary`)).mistakes.length]).toEqual([name, unsentHeaders.has(name) ? 1 : 0])
})

test('an Azure address may have an api-version in its query', () => {
  const azure = (query: string, more = '') =>
    read(
      entry(
        'azure/mine, api_key: k, api_base: ' +
          `"https://n.openai.azure.com/openai/deployments/d/chat/completions${query}"${more}`,
      ),
    )
  const { target } = azure('?api-version=2025-01-01-preview').settings!.deployments[0]!
  expect([target.baseUrl, target.options.api_version]).toEqual([
    'https://n.openai.azure.com/openai/deployments/d/chat/completions',
    '2025-01-01-preview',
  ])
  expect(target.provider.speaks['openai-chat']!(target, false).url).toBe(
    'https://n.openai.azure.com/openai/deployments/d/chat/completions?api-version=2025-01-01-preview',
  )
  expect(azure('?api-version=1', ', api_version: "1"').mistakes).toEqual([])
  expect(azure('?api-version=1', ', api_version: "2"').mistakes).toEqual([
    expect.stringContaining('has another `api-version`'),
  ])
  for (const query of ['?', '?api-version=', '?api-version=1&code=hunter2']) {
    const found = azure(query).mistakes
    expect(found).toEqual([expect.stringContaining('has a query with more than `api-version`')])
    expect(found.join()).not.toContain('hunter2')
  }
})

test('an alias with the name of a model is a warning', () => {
  const found = read(
    `${good}  - { model_name: n, proxy_params: { model: groq/y, api_key: k } }\nrouter_settings: { ` +
      'model_group_alias: { n: m } }\n',
  )
  expect(found.mistakes).toEqual([])
  expect(found.warnings[0]).toBe(
    'c.yaml:5:44 router_settings.model_group_alias.n: is also the `model_name` of a model, which wins: the alias ' +
      'has no effect',
  )
})

test('more retries than attempts are a warning', () => {
  const warned = (settings: string): string[] =>
    read(`${good}router_settings: { ${settings} }\n`).warnings.filter(one => one.includes('attempts'))
  expect(warned('num_retries: 10')).toEqual([
    'c.yaml:4:33 router_settings.num_retries: at most 6 attempts are made for a call (`max_attempts`); raise that, ' +
      'or lower this',
  ])
  expect(warned('num_retries: 2, max_attempts: 2')).toHaveLength(1)
  for (const fine of ['num_retries: 5', 'num_retries: 10, max_attempts: 11', 'max_attempts: 1'])
    expect([fine, warned(fine)]).toEqual([fine, []])
})

test('provider keys are also looked up in environment_variables; the process environment has precedence', () => {
  const text =
    `${entry('groq/x')}environment_variables: { GROQ_API_KEY: os.environ/OTHER, COPY: "\${OTHER}-2", ` +
    'MISTRAL_API_KEY: file }\n'
  const key = (environment: Record<string, string>) =>
    read(text, environment).settings!.deployments[0]!.target.apiKey!.reveal()
  expect([key({ OTHER: 'a' }), key({ OTHER: 'a', GROQ_API_KEY: 'b' })]).toEqual(['a', 'b'])
  // A variable of the file may refer to another variable.
  const copied = read(text.replace('groq/x', 'groq/x, api_key: os.environ/COPY'), { OTHER: 'a' })
  expect(copied.settings!.deployments[0]!.target.apiKey!.reveal()).toBe('a-2')
  const offered = read(text.slice(text.indexOf('environment_variables')), { OTHER: 'a' }).settings!.deployments.map(
    one => one.modelName,
  )
  expect(offered.filter(name => !name.startsWith('local/')).sort()).toEqual(['groq/*', 'mistral/*'])
})

test('an unusable key in the environment is reported by its variable name, without its value', () => {
  expect(read(entry('groq/x'), { GROQ_API_KEY: 'hunter2\n' }).mistakes).toEqual([
    'c.yaml:3:19 model_list.0.proxy_params: the key in GROQ_API_KEY has a blank, a line break or a character beyond ' +
      'ASCII, which no key has; look at its beginning and end',
  ])
  const { settings } = readSettings({ environment: { GROQ_API_KEY: 'hunter2\n', MISTRAL_API_KEY: 'k' }, providers })
  expect(settings!.deployments.map(one => one.modelName)).toContain('mistral/*')
  expect(settings!.deployments.map(one => one.modelName)).not.toContain('groq/*')
  expect(settings!.warnings).toContainEqual(
    expect.stringMatching(/^the key in GROQ_API_KEY has .*; groq\/\* is not offered$/),
  )
  expect(settings!.warnings.join()).not.toContain('hunter2')
})

test('an unquoted star is reported with its position; addresses that only resemble an operation are accepted', () => {
  for (const text of [
    'model_list:\n  - model_name: *\n',
    'model_list:\n  - model_name: */x\n',
    'model_list:\n  - model_name: *x\n',
  ])
    expect(read(text).mistakes).toEqual([
      expect.stringContaining('c.yaml:2:17 a text that begins with `*` must stand in quotes'),
    ])
  for (const address of ['http://h/rerank', 'http://h/messages/v1', 'http://embeddings:80', 'http://h/v1beta'])
    expect(read(at(address)).mistakes).toEqual([])
})

describe('names are compared beside structural mistakes', () => {
  const nameless = `${good}  - { proxy_params: { model: groq/y, api_key: k } }\n`
  test('an entry without a name makes what may be its name a warning', () => {
    const found = read(`${nameless}router_settings: { fallbacks: [{ m: [mm] }] }\n`)
    expect(found.mistakes).toEqual(['c.yaml:4:5 model_list.1.model_name: is missing; give a string'])
    expect(found.warnings).toEqual([expect.stringMatching(/^c\.yaml:5:\d+ .*fallbacks\.0\.m: no model is named `mm`/)])
  })

  test('an item that is no fallback hides none of the others, which keep their places', () => {
    const found = read(fallbacks('{ m: [x] }, 5, { m: [1, y, { z: 1 }] }, { m: [q], n: 7 }'))
    expect(found.mistakes.map(line => line.replace(/^c\.yaml:\d+:\d+ /, ''))).toEqual([
      'router_settings.fallbacks.0.m: no model is named `x`, did you mean `m`?',
      expect.stringContaining('router_settings.fallbacks.1: must be a map'),
      'router_settings.fallbacks.2.m: no model is named `y`, did you mean `m`?',
      expect.stringContaining('router_settings.fallbacks.2.m.0: must be a string'),
      expect.stringContaining('router_settings.fallbacks.2.m.2: must be a string'),
      'router_settings.fallbacks.3.m: no model is named `q`, did you mean `m`?',
      expect.stringContaining('router_settings.fallbacks.3.n: must be a list'),
    ])
    const columns = found.mistakes.map(line => Number(/^c\.yaml:\d+:(\d+)/.exec(line)![1]))
    expect(columns).toEqual(columns.toSorted((one, other) => one - other))
  })

  test('a broken guardrail hides no mistake of the next', () => {
    const regex = (name: string, patterns: string) =>
      `{ guardrail_name: ${name}, proxy_params: { guardrail: regex, mode: pre_call, patterns: [${patterns}] } }`
    const broken = regex('b', '{ name: N, pattern: "((" }')
    const found = read(`${good}guardrails: [7, ${regex('a', '5')}, ${broken}]\n`)
    expect(found.mistakes.map(line => line.replace(/^c\.yaml:\d+:\d+ (.*?: ).*/, '$1'))).toEqual([
      'guardrails.0: ',
      'guardrails.1.proxy_params.patterns.0: ',
      'guardrails.2.proxy_params.patterns.0.pattern: ',
    ])
  })
})
