/** All mistakes of a file at once, with position and suggestion. */
import { expect, test } from 'bun:test'
import { localModels, providers } from '../../providers/index.ts'
import { readSettings } from '../read-settings.ts'
import { readConfig } from './parse.ts'

const read = (text: string, environment: Record<string, string> = {}) =>
  readSettings({ text, file: 'config.yaml', environment, providers })

const model = (params: string, more = '') => `model_list:\n  - model_name: m\n    proxy_params: { ${params} }\n${more}`

const mistakes: [string, string, string[]][] = [
  ['a misspelt section', 'model_lst: []\n', ['config.yaml:1:1 model_lst: unknown key, did you mean `model_list`?']],
  [
    'a misspelt key',
    model('model: groq/x, api_kye: k, api_key: k'),
    ['config.yaml:3:36 model_list.0.proxy_params.api_kye: unknown key, did you mean `api_key`?'],
  ],
  [
    'a wrong type',
    model('model: groq/x, api_key: k, weight: heavy'),
    ['config.yaml:3:56 model_list.0.proxy_params.weight: must be a number; got "heavy"'],
  ],
  [
    'an unset variable',
    model('model: groq/x, api_key: os.environ/NOPE'),
    [
      'config.yaml:3:45 model_list.0.proxy_params.api_key: the environment variable NOPE is not set; set it, or ' +
        'write ${NOPE:-default}',
    ],
  ],
  [
    'an unknown provider',
    model('model: gorq/x, api_key: k'),
    ['config.yaml:3:28 model_list.0.proxy_params.model: unknown provider `gorq`, did you mean `groq`?'],
  ],
  [
    'no key',
    model('model: groq/x'),
    ['config.yaml:3:19 model_list.0.proxy_params: no key: give `api_key`, or set GROQ_API_KEY'],
  ],
  [
    'an unknown fallback',
    model('model: groq/x, api_key: k', 'router_settings: { fallbacks: [{ m: [n] }] }\n'),
    ['config.yaml:4:37 router_settings.fallbacks.0.m: no model is named `n`, did you mean `m`?'],
  ],
  [
    'what is missing',
    'model_list: [{ proxy_params: { model: groq/x, api_key: k } }]\n',
    ['config.yaml:1:14 model_list.0.model_name: is missing; give a string'],
  ],
  [
    'a reference that is not closed',
    model('model: groq/x, api_key: "${GROQ_KEY"'),
    [
      'config.yaml:3:45 model_list.0.proxy_params.api_key: `${` begins the name of an environment variable; write ' +
        '${NAME} or ${NAME:-default}',
    ],
  ],
  [
    'a master key that the start would refuse',
    'general_settings: { master_key: short }\n',
    [
      'config.yaml:1:33 general_settings.master_key: is shorter than 32 characters; make one with: echo ' +
        '"sk-$(openssl rand -base64 32)", or leave it out: MODELGATE_MASTER_KEY counts then, or the first start makes one',
    ],
  ],
  [
    'an alias that never ends',
    'model_list: &a [x, *a]\n',
    ['config.yaml:1:20 an alias inside of what it stands for has no end; write it out'],
  ],
]
for (const [name, text, expected] of mistakes)
  test(`${name} is reported with line and column`, () => {
    expect(read(text).mistakes).toEqual(expected)
  })

test(
  'a mistake of form hides no other: providers, ids and names are judged in the same run, and nothing is ' + 'guessed',
  () => {
    const entry = (name: string, params: string, id = '') =>
      `  - model_name: ${name}\n    proxy_params: { ${params} }\n${id && `    model_info: { id: ${id} }\n`}`
    const routes = 'router_settings: { num_retries: -1, fallbacks: [{ a: [b, nobody] }, { d: [c] }] }\n'
    const entries = [
      entry('a', 'model: gorq/x, api_kye: k', 'one'),
      entry('b', 'model: groq/x, api_key: 5', 'one'),
      entry('c', 'model: os.environ/NOPE, api_key: k'),
      entry('d', 'weight: heavy'),
    ]
    const found = read(`model_list:\n${entries.join('')}${routes}`).mistakes
    expect(found).toEqual([
      'config.yaml:3:28 model_list.0.proxy_params.model: unknown provider `gorq`, did you mean `groq`?',
      expect.stringContaining('config.yaml:3:36 model_list.0.proxy_params.api_kye: unknown key'),
      expect.stringContaining('config.yaml:6:45 model_list.1.proxy_params.api_key: '),
      'config.yaml:7:23 model_list.1.model_info.id: `one` is also the id of config.yaml:2; ids must differ',
      expect.stringContaining('model_list.2.proxy_params.model: the environment variable NOPE is not set'),
      expect.stringContaining('model_list.3.proxy_params.model: is missing'),
      expect.stringContaining('model_list.3.proxy_params.weight: '),
      expect.stringContaining('router_settings.num_retries: '),
      'config.yaml:12:54 router_settings.fallbacks.0.a: no model is named `nobody`',
    ])
  },
)

test(
  'what only follows from a mistake is none: a name that cannot be read, an address that was wrong, ids of ' + 'halves',
  () => {
    const about = (text: string) => read(text).mistakes.map(one => one.split(' ')[1])
    const fallback = 'router_settings: { fallbacks: [{ m: [gone] }] }\n'
    expect(
      about(
        'model_list:\n  - model_nme: gone\n    proxy_params: { model: groq/x, api_key: k }\n  - model_name: m\n    ' +
          `proxy_params: { model: groq/x, api_key: k }\n${fallback}`,
      ),
    ).toEqual(['model_list.0.model_name:', 'model_list.0.model_nme:'])
    expect(about(`model_list: all\n${fallback}`)).toEqual(['model_list:'])
    expect(about(model('model: mine, api_base: 5, api_key: k'))).toEqual(['model_list.0.proxy_params.api_base:'])
    const half = (weight: string) =>
      `  - model_name: m\n    proxy_params: { model: groq/x, api_key: k, weight: ${weight} }\n`
    expect(about(`model_list:\n${half('a')}${half('b')}`)).toEqual([
      'model_list.0.proxy_params.weight:',
      'model_list.1.proxy_params.weight:',
    ])
  },
)

test('several mistakes are reported in order; broken YAML by its position', () => {
  expect(read('a: 1\nb: 2\n').mistakes.length).toBe(2)
  expect(read('model_list: [\n').mistakes[0]).toMatch(/^config\.yaml:\d+:\d+ /)
})

test('a key that is unknown in a section of LiteLLM is a warning, unless it looks like a known one', () => {
  const found = read(
    'model_list:\n  - model_name: m\n    litellm_params: { model: groq/x, api_key: k, headers: { a: b }, deadline: 5 }\n' +
      '    model_info: { cost_center: 4711, supports_visoin: true }\n' +
      'litellm_settings: { xyz_unheard_of: 1, num_retires: 2, success_callback: [x] }\n',
  )
  expect(found.mistakes).toEqual([
    'config.yaml:4:38 model_list.0.model_info.supports_visoin: unknown key, did you mean `supports_vision`?',
    'config.yaml:5:40 litellm_settings.num_retires: unknown key, did you mean `num_retries`?',
  ])
  expect(read('litellm_settings: {}\nsettings: {}\n').mistakes).toEqual([
    'config.yaml:2:1 settings: is the same as `litellm_settings`; keep one',
  ])
  const { warnings } = read(
    'model_list:\n  - model_name: m\n    litellm_params: { model: groq/x, api_key: k, deadline: 5, rpm: 3 }\n' +
      '    model_info: { mode: batch, cost_center: 4711 }\n' +
      'litellm_settings: { xyz_unheard_of: 1, success_callback: [x] }\n',
  )
  expect(warnings).toEqual([
    'config.yaml:3:50 model_list.0.litellm_params.deadline: has no effect here: it is not known',
    'config.yaml:3:63 model_list.0.litellm_params.rpm: has no effect here: limit the deployment by ' +
      '`rpm_limit` and `tpm_limit`, and share calls by `weight`',
    'config.yaml:4:25 model_list.0.model_info.mode: has no effect here: `batch` is no mode of this gateway',
    'config.yaml:4:32 model_list.0.model_info.cost_center: has no effect here: it is not known',
    'config.yaml:5:21 litellm_settings.xyz_unheard_of: has no effect here: it is not known',
    expect.stringMatching(
      /^config\.yaml:5:40 litellm_settings\.success_callback: has no effect here: read calls .* `usage_export\.sinks`/,
    ),
    expect.stringContaining('no price is known'),
  ])
  // Our own names stay strict.
  expect(read(model('model: groq/x, api_key: k, deadline: 5')).mistakes).toEqual([
    'config.yaml:3:48 model_list.0.proxy_params.deadline: unknown key',
  ])
})

test('sections that take any key at LiteLLM do so in its files; what is empty counts as not given', () => {
  const text = (params: string) =>
    `model_list:\n  - { model_name: m, ${params}: { model: groq/x, api_key: k } }\n` +
    'general_settings: { database_url: , proxy: "", proxy_base_url: a, cors_origins: [] }\n' +
    'router_settings: { default_model: m, num_retrys: 1 }\nteam_management: { a: 1 }\n'
  const { mistakes: wrong, warnings } = read(text('litellm_params'))
  expect(wrong).toEqual(['config.yaml:4:38 router_settings.num_retrys: unknown key, did you mean `num_retries`?'])
  expect(warnings.filter(one => !one.startsWith('no price')).map(one => one.replace(/^\S+ /, ''))).toEqual([
    'general_settings.database_url: is empty, and counts as not given',
    'general_settings.proxy: is empty, and counts as not given',
    'general_settings.proxy_base_url: has no effect here: it is not known; did you mean `proxy`?',
    'router_settings.default_model: has no effect here: it is not known',
    'team_management: has no effect here: it is not known',
  ])
  expect(read(text('proxy_params')).mistakes.length).toBe(7)
})

test('a key without a function is no warning where its value asks for nothing', () => {
  const about = (rest: string) =>
    read(
      'model_list: [{ model_name: m, litellm_params: { model: groq/x, api_key: k, ssl_verify: false } }]\n' + rest,
    ).warnings.flatMap(one => /\.(\w+): has no effect/.exec(one)?.[1] ?? [])
  const off =
    'litellm_settings: { callbacks: [prometheus], success_callback: [], set_verbose: false, json_logs: true }\n' +
    'router_settings: { routing_strategy: simple-shuffle, enable_tag_filtering: false }\n'
  expect(about(off)).toEqual(['ssl_verify'])
  expect(about('litellm_settings: { callbacks: [prometheus, otel] }\n')).toEqual(['ssl_verify', 'callbacks'])
})

test('the master key of a file of LiteLLM comes from its variable, unless the file has one', () => {
  const masterKey = (params: string, rest: string, given = 'sk-q7Zt4Lw9Xk2Vb8Nc3Hj6Rf1Yp5Ms0GdQa') =>
    readConfig(`model_list: [{ model_name: m, ${params}: { model: groq/x, api_key: k } }]\n${rest}`, {
      file: 'config.yaml',
      environment: { LITELLM_MASTER_KEY: given },
    }).config?.general_settings?.master_key
  const own = 'sk-Zq8Lw2Xv5Rt9Yp3Nc7Hj1Mb6Kf4GdSaTe'
  expect(masterKey('litellm_params', '')).toStartWith('sk-q7Zt')
  expect(masterKey('litellm_params', 'general_settings: { master_key: }\n')).toStartWith('sk-q7Zt')
  expect(masterKey('litellm_params', `general_settings: { master_key: ${own} }\n`)).toBe(own)
  expect(masterKey('litellm_params', '', '')).toBeUndefined()
  expect(masterKey('proxy_params', '')).toBeUndefined()
})

test('rates of the deployments of a name share its calls, unless weights are given', () => {
  const weights = (...params: string[]) => {
    const entries = params.map(one => `  - { model_name: m, litellm_params: { model: groq/x, ${one} } }\n`)
    return read(`model_list:\n${entries.join('')}`)
      .settings!.deployments.slice(0, params.length)
      .map(one => one.weight)
  }
  expect(weights('api_key: a, rpm: 1000', 'api_key: b, rpm: 100, tpm: 9')).toEqual([1, 0.1])
  expect(weights('api_key: a, tpm: 4000000', 'api_key: b, tpm: 1000000, rpm: 5')).toEqual([1, 0.25])
  expect(weights('api_key: a, rpm: 1000, weight: 3', 'api_key: b, rpm: 100')).toEqual([3, 1])
  expect(weights('api_key: a, rpm: 1000', 'api_key: b')).toEqual([1, 1])
  expect(weights('api_key: a, rpm: 1000')).toEqual([1])
})

test('bare names of models belong to their vendor; a name of no vendor and a wrong provider name what is meant', () => {
  const of = (params: string) => {
    const { settings, mistakes: wrong } = read(model(`${params}, api_key: k`))
    const target = settings?.deployments[0]?.target
    return target ? `${target.provider.name} ${target.model}` : wrong[0]!.replace(/^[^`]*/, '')
  }
  const bare: Record<string, string> = {
    'gpt-3.5-turbo': 'openai',
    'gpt-6': 'openai',
    'o4-mini': 'openai',
    'ft:gpt-4o-mini-2024-07-18:org::id': 'openai',
    'text-embedding-3-small': 'openai',
    'claude-sonnet-4-5': 'anthropic',
    'gemini-2.5-pro': 'gemini',
    'command-r-plus': 'cohere',
    'mistral-large-latest': 'mistral',
    'deepseek-reasoner': 'deepseek',
    'grok-4': 'xai',
    'us.anthropic.claude-sonnet-4-5-20250929-v1:0': 'bedrock',
  }
  for (const [name, vendor] of Object.entries(bare))
    expect(of(`model: "${name}"${vendor === 'bedrock' ? ', aws_region_name: us-east-1' : ''}`)).toBe(
      `${vendor} ${name}`,
    )
  expect(of('model: gpt-4o, api_base: "http://h/v1"')).toBe('custom_openai gpt-4o')
  expect(of('model: gpt-4o, custom_llm_provider: azure, api_base: "https://h.openai.azure.com"')).toBe('azure gpt-4o')
  expect(of('model: text-completion-openai/gpt-3.5-turbo-instruct')).toBe(
    'text_completion_openai gpt-3.5-turbo-instruct',
  )
  expect(of('model: my-own-name')).toStartWith('`provider/model`, for example `openai/my-own-name`')
  expect(read(model('model: "*", api_key: k').replace('model_name: m', 'model_name: "*"')).mistakes[0]).toContain(
    'model: names no vendor: give an entry for each (`openai/*`, ...)',
  )
  expect(of('model: vllm/x')).toBe('`vllm`, did you mean `hosted_vllm`?')
  expect(of('model: google/x')).toBe('`google`, did you mean `gemini`?')
  expect(of('model: x, custom_llm_provider: Together')).toBe('`Together`, did you mean `together_ai`?')
})

test("LiteLLM's names are read, keys without a function are warnings", () => {
  const { settings, mistakes: none } = read(
    'model_list:\n  - model_name: m\n    litellm_params: { model: groq/x, api_key: "${K:-fallback}", rpm: 5 ' +
      '}\nlitellm_settings: { drop_params: false, success_callback: [x] }\n',
  )
  expect(none).toEqual([])
  const deployment = settings!.deployments[0]!
  expect([deployment.target.apiKey!.reveal(), deployment.dropParams, String(deployment.target.apiKey)]).toEqual([
    'fallback',
    false,
    '[redacted]',
  ])
  expect(settings!.warnings.filter(one => one.includes('has no effect here')).length).toBe(2)
})

test('prices are exact, unknown ones are null and warned about', () => {
  const priced = read(model('model: groq/x, api_key: k, input_cost_per_token: 3e-06, output_cost_per_token: 0.000015'))
    .settings!
  expect(priced.deployments[0]!.prices).toEqual({ input: 3_000_000_000n, output: 15_000_000_000n })
  const unknown = read(model('model: custom_openai/x, api_base: "http://h/v1"')).settings!
  expect(unknown.deployments[0]!.prices).toBeNull()
  expect(unknown.warnings).toEqual([
    expect.stringMatching(/^no price is known for 1 of the models: m \(config\.yaml:2\); /),
  ])
  const half = read(model('model: custom_openai/x, api_base: "http://h/v1", input_cost_per_token: 0.000001')).settings!
  expect(half.warnings[0]).toContain('m (config.yaml:2)')
})

test("without a price the warning names base_model, if an Azure deployment's own name is the reason", () => {
  const warning = (text: string) => read(text).settings!.warnings[0]
  const azure = 'model: azure/our-own-name, api_base: "https://h.openai.azure.com", api_key: k'
  expect(warning(model(azure))).toContain('model_info.base_model')
  expect(warning(model('model: custom_openai/x, api_base: "http://h/v1"'))).not.toContain('base_model')
  expect(warning(`${model(azure).trimEnd()}\n    model_info: { base_model: gpt-4o }\n`)).toBeUndefined()
})

test('without a file the keys of the environment and the local models are offered', () => {
  const { settings } = readSettings({ environment: { GROQ_API_KEY: 'k' }, providers })
  expect(settings!.deployments.map(one => one.modelName)).toEqual(['groq/*', ...localModels.map(one => one.modelName)])
})

test(
  'a warning stays one line, however many models have no price; those that are billed otherwise are none of ' + 'them',
  () => {
    const entry = (name: string, more: string) =>
      `  - model_name: ${name}\n    proxy_params: { model: custom_openai/x, api_base: "http://h/v1"${more} }\n`
    const many = Array.from({ length: 25 }, (_, at) => entry(`m${at}`, '')).join('')
    const painter =
      '  - model_name: painter\n    proxy_params: { model: custom_openai/p, api_base: "http://h/v1", ' +
      'output_cost_per_image: 0.04 }\n    model_info: { mode: image_generation }\n'
    const { warnings } = read(`model_list:\n${many}${painter}`).settings!
    expect(warnings.length).toBe(1)
    expect(warnings[0]).toContain('no price is known for 25 of the models')
    expect(warnings[0]).toContain('m9 (config.yaml:20) and 15 more')
    expect(warnings[0]).not.toContain('painter')
  },
)

test('prices of every kind are read; a mistake in one is reported', () => {
  const prices =
    'input_cost_per_token: 0.000001, input_cost_per_token_above_200k_tokens: 0.000002, output_cost_per_token: 0, ' +
    'input_cost_per_query: 0.002, input_cost_per_request: "1e-4", output_cost_per_token_flex: 0.000003'
  expect(read(model(`model: groq/x, api_key: k, ${prices}`)).settings!.deployments[0]!.prices).toEqual({
    input: 1_000_000_000n,
    output: 0n,
    searchUnit: 2_000_000_000_000n,
    request: 100_000_000_000n,
    tiers: [
      {
        fromInputTokens: 200_001,
        prices: { input: 2_000_000_000n, output: 0n, searchUnit: 2_000_000_000_000n, request: 100_000_000_000n },
      },
    ],
    variants: {
      flex: {
        input: 1_000_000_000n,
        output: 3_000_000_000n,
        searchUnit: 2_000_000_000_000n,
        request: 100_000_000_000n,
      },
    },
  })
  expect(read(model('model: groq/x, api_key: k, output_cost_per_image: -1')).mistakes[0]).toContain(
    'proxy_params.output_cost_per_image: ',
  )
  expect(read(model('model: groq/x, api_key: k, output_cost_per_imge: 1')).mistakes[0]).toContain(
    'did you mean `output_cost_per_image`?',
  )
  expect(read(model('model: groq/x, api_key: k, input_cost_per_pixel: 1')).settings!.warnings[0]).toContain(
    'input_cost_per_pixel: has no effect here',
  )
  const second = 'model: groq/x, api_key: k, input_cost_per_token: 1e-6, output_cost_per_token: 1e-6, '
  expect(read(model(`${second}input_cost_per_second: 0.0001`)).settings!.warnings).toEqual([
    expect.stringContaining(
      'input_cost_per_second: has no effect here: it is not what a model of the mode `chat` is billed by',
    ),
  ])
})

test('an unknown provider stays a mistake when an address is given', () => {
  const wrong = read(model('model: x, custom_llm_provider: gorq, api_base: "http://h/v1", api_key: k'))
  expect(wrong.mistakes).toEqual([
    'config.yaml:3:52 model_list.0.proxy_params.custom_llm_provider: unknown provider `gorq`, did you mean `groq`?',
  ])
})

test('an anchor may be used again beside itself, and a closed reference inside of a text', () => {
  const { settings, mistakes: none } = read(
    'model_list:\n  - { model_name: a, proxy_params: &p { model: groq/x, api_key: "k-${K:-one}-${L:-two}" } }\n  - ' +
      '{ model_name: b, proxy_params: *p }\n',
  )
  expect(none).toEqual([])
  expect(settings!.deployments.slice(0, 2).map(one => one.target.apiKey!.reveal())).toEqual(['k-one-two', 'k-one-two'])
})
