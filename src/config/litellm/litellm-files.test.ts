/** What LiteLLM takes in its files, and starts with. */
import { expect, test } from 'bun:test'
import { ModelIndex } from '../../access/models/model-index.ts'
import { masterCaller } from '../../core/caller.ts'
import type { ModelDirectory } from '../../core/model-directory.ts'
import { fallbacksOf } from '../../core/settings.ts'
import { providers } from '../../providers/index.ts'
import { concreteModel } from '../models/model-facts.ts'
import { readSettings } from '../read-settings.ts'
import { unenforcedKeys } from './litellm-keys.ts'

const read = (text: string, environment: Record<string, string> = {}) =>
  readSettings({ text, file: 'c.yaml', environment, providers })
const entry = (params: string, name = 'm', more = '') =>
  `  - { model_name: "${name}", litellm_params: { ${params} }${more} }\n`
const plain = 'model: openai/gpt-4o, api_key: k'
const listed = (...entries: string[]) => `model_list:\n${entries.join('')}`

function served(text: string, environment: Record<string, string> = {}) {
  const { settings, mistakes } = read(text, environment)
  expect(mistakes).toEqual([])
  return { settings: settings!, deployments: settings!.deployments.filter(one => one.origin.kind === 'config') }
}

test('`mode: embeddings` is that of embeddings', () => {
  const { deployments, settings } = served(listed(entry(plain, 'm', ', model_info: { mode: embeddings }')))
  expect([deployments[0]!.mode, settings.warnings]).toEqual(['embedding', []])
})

test('an empty list of fallbacks is none, also where every other model has some', () => {
  const router = (lists: string) => `${listed(entry(plain), entry(plain, 'n'))}router_settings: { ${lists} }\n`
  const { settings } = served(router('fallbacks: [{ m: [] }, { "*": [n] }], context_window_fallbacks: [{ m: [] }]'))
  expect(fallbacksOf(settings.router.fallbacks, 'm', settings)).toEqual([])
  expect(fallbacksOf(settings.router.fallbacks, 'other', settings)).toEqual(['n'])
  const { router: empty } = served(router('fallbacks: [], default_fallbacks: []')).settings
  expect(empty.fallbacks).toEqual({ '*': [] })
})

test('a repeated entry counts with the weights of all; one of the same id and other settings is a mistake', () => {
  const { deployments, settings } = served(listed(entry(plain), entry(`${plain}, order: 1`), entry(plain)))
  expect(deployments.map(one => [one.order, one.weight])).toEqual([
    [0, 2],
    [1, 1],
  ])
  expect(settings.warnings).toContain(
    'c.yaml:4:5 model_list.2: is the same as c.yaml:2: both are one deployment, with the weights of both; take one out',
  )
  const named = (params: string) => entry(params, 'm', ', model_info: { id: one }')
  expect(served(listed(named(plain), named(plain))).deployments.length).toBe(1)
  expect(read(listed(named(plain), named('model: openai/gpt-5, api_key: k'))).mistakes).toEqual([
    expect.stringContaining('`one` is also the id of c.yaml:2; ids must differ'),
  ])
})

test('budgets are taken up to a billion dollars', () => {
  const budget = (usd: string) =>
    `${listed(entry(plain))}litellm_settings: { max_budget: ${usd}, max_internal_user_budget: ${usd} }\n`
  const { budgets, newUsers } = served(budget('1000000000')).settings
  expect([budgets.all?.maxBudgetNanoUsd, newUsers.maxBudgetNanoUsd]).toEqual([10n ** 18n, 10n ** 18n])
  expect(read(budget('1000000001')).mistakes[0]).toContain('must be a number of at most 1000000000')
})

const keys = { OPENAI_API_KEY: 'o', ANTHROPIC_API_KEY: 'a', GROQ_API_KEY: 'g' }

test('`model: "*"` stands for every vendor with a key in the environment and without an entry of its own', () => {
  const every = entry('model: "*", timeout: 7', '*')
  const { deployments } = served(listed(every, entry('model: groq/*, api_key: own', 'groq/*')), keys)
  const shown = deployments.map(one => [one.modelName, one.target.apiKey!.reveal(), one.timeouts.firstByteMs])
  expect(shown.sort()).toEqual([
    ['anthropic/*', 'a', 7000],
    ['groq/*', 'own', 600_000],
    ['openai/*', 'o', 7000],
    ['text_completion_openai/*', 'o', 7000],
  ])
  expect(deployments.find(one => one.modelName === 'openai/*')!.origin.where).toBe('c.yaml:2')
  const { settings } = served(listed(every, every))
  expect(settings.warnings).toEqual([
    'c.yaml:3:5 model_list.1: has no effect beside c.yaml:2',
    expect.stringMatching(/^c\.yaml:2:5 model_list\.0: offers no model: the environment has no key of a vendor/),
  ])
  // One key would go to every vendor that a client names.
  expect(read(listed(entry('model: "*", api_key: k', '*')), keys).mistakes).toEqual([
    expect.stringContaining('model: names no vendor: give an entry for each'),
  ])
})

test('`model: "*"` behind a prefix stands for every vendor under it, also by the names of its own models', () => {
  const { deployments, settings } = served(
    listed(entry('model: "*"', 'my/*'), entry('model: groq/*, api_key: own', 'my/groq/*'), entry('model: "*"', '*')),
    keys,
  )
  const of = (prefix: string) =>
    deployments.flatMap(one =>
      one.modelName.startsWith(prefix) ? [`${one.modelName} ${one.target.apiKey!.reveal()}`] : [],
    )
  expect(of('my/').sort()).toEqual([
    'my/anthropic/* a',
    'my/groq/* own',
    'my/openai/* o',
    'my/text_completion_openai/* o',
  ])
  expect(of('groq')).toEqual(['groq/* g'])
  const index = new ModelIndex(settings, (pattern, _, model) => ({ ...pattern, target: { ...pattern.target, model } }))
  const shown = ['my/openai/gpt-4o', 'my/gpt-4o', 'my/claude-sonnet-4-5', 'claude-sonnet-4-5', 'my/gpt/x', 'mygpt-4o']
  expect(shown.map(name => index.resolve(name).map(one => `${one.modelName} ${one.target.model}`))).toEqual([
    ['my/openai/* gpt-4o'],
    ['my/openai/* gpt-4o'],
    ['my/anthropic/* claude-sonnet-4-5'],
    ['anthropic/* claude-sonnet-4-5'],
    [],
    [],
  ])
  const alone = served(listed(entry('model: "*"', 'my/*')), keys).settings
  expect([alone.notOffered, alone.deployments.filter(one => one.origin.kind === 'environment')]).toEqual([
    undefined,
    [],
  ])
})

test('strategies of the router are read', () => {
  const router = (keys: string) => served(`${listed(entry(plain))}router_settings: { ${keys} }\n`).settings
  const strategyOf = (keys: string) => router(keys).router.strategy
  expect(strategyOf('num_retries: 1')).toBeUndefined()
  expect(strategyOf('routing_strategy: simple-shuffle')).toBeUndefined()
  expect(strategyOf('routing_strategy: least-busy')).toEqual({ by: 'least-busy' })
  const args = 'routing_strategy_args: { lowest_latency_buffer: 0.5, ttl: 10, max_latency_list_size: 5 }'
  const timed = router(`routing_strategy: latency-based-routing, ${args}`)
  expect(timed.router.strategy).toEqual({ by: 'latency-based-routing', bufferShare: 0.5, forgetMs: 10_000 })
  expect(timed.warnings).toEqual([
    expect.stringContaining('routing_strategy_args.max_latency_list_size: has no effect'),
  ])
  for (const strategy of ['usage-based-routing', 'usage-based-routing-v2']) {
    const { router: read, warnings } = router(`routing_strategy: ${strategy}`)
    expect([read.strategy, warnings]).toEqual([{ by: 'usage-based-routing' }, []])
  }
})

test('rpm and tpm are limits where calls are checked before they are sent, and with usage-based routing', () => {
  const rated = (router: string, ...entries: string[]) => {
    const { deployments, settings } = served(`${listed(...entries)}router_settings: { ${router} }\n`)
    const shown = deployments.map(({ weight, rateLimits: limits }) => [
      weight,
      limits?.requestsPerMinute,
      limits?.tokensPerMinute,
    ])
    return { shown, warnings: settings.warnings.filter(one => one.includes('pm')) }
  }
  const two = [entry(`${plain}, rpm: 100, tpm: 5000`), entry(`${plain}, rpm: 50, order: 1`)]
  const limited = {
    shown: [
      [1, 100, 5000],
      [0.5, 50, null],
    ],
    warnings: [],
  } // prettier-ignore
  expect(rated('enable_pre_call_checks: true', ...two)).toEqual(limited)
  expect(rated('optional_pre_call_checks: [enforce_model_rate_limits]', ...two)).toEqual(limited)
  const affinity =
    'optional_pre_call_checks: [session_affinity, deployment_affinity, prompt_caching, ' +
    'responses_api_deployment_check, encrypted_content_affinity], deployment_affinity_ttl_seconds: 60'
  const kept = served(`${listed(...two)}router_settings: { ${affinity} }\n`).settings
  expect(kept.router.affinityMs).toBe(60_000)
  expect(kept.warnings.filter(one => one.includes('affinity') || one.includes('optional'))).toEqual([])
  const other = served(`${listed(...two)}router_settings: { optional_pre_call_checks: [prompt_caching, dreams] }\n`)
  expect(other.settings.router.affinityMs).toBe(3_600_000)
  expect(other.settings.warnings.join()).toContain('optional_pre_call_checks')
  const unshared = {
    shown: [
      [1, 100, 5000],
      [1, 50, null],
    ],
    warnings: [],
  } // prettier-ignore
  for (const strategy of ['usage-based-routing', 'usage-based-routing-v2'])
    expect(rated(`routing_strategy: ${strategy}`, ...two).shown).toEqual(unshared.shown)
  const shares = rated('enable_pre_call_checks: false', ...two)
  expect(shares.shown.map(([weight, ...limits]) => [weight, limits])).toEqual([
    [1, [undefined, undefined]],
    [0.5, [undefined, undefined]],
  ])
  expect(shares.warnings[0]).toContain('shares calls here as `weight` would, and is no limit')
  // LiteLLM reads the entry itself first, and what is known about the model last.
  const elsewhere = entry(`${plain}, rpm: 7`, 'm', ', rpm: 3, model_info: { tpm: 9 }')
  expect(rated('enable_pre_call_checks: true', elsewhere)).toEqual({ shown: [[1, 3, 9]], warnings: [] })
})

test('retries and cooldowns by the kind of error are read, and what has no meaning here is a warning', () => {
  const read = (more: string, entries = listed(entry(plain))) => {
    const { settings, deployments } = served(`${entries}${more}`)
    return { ...settings.router, deployments, warnings: settings.warnings }
  }
  const policies =
    'router_settings:\n  retry_policy: { BadRequestErrorRetries: 0, TimeoutErrorRetries: 2, OtherErrorRetries: 1 }\n' +
    '  model_group_retry_policy: { m: { RateLimitErrorRetries: 3 }, gone: { TimeoutErrorRetries: 1 } }\n' +
    '  allowed_fails_policy: { RateLimitErrorAllowedFails: 100, BadRequestErrorAllowedFails: 9 }\n' +
    'litellm_settings: { allowed_fails: 7, cooldown_time: 30 }\n'
  const found = read(policies)
  expect(found).toMatchObject({
    retryPolicy: { BadRequestError: 0, TimeoutError: 2 },
    retryPolicies: { m: { RateLimitError: 3 }, gone: { TimeoutError: 1 } },
    allowedFailsPolicy: { RateLimitError: 100 },
    allowedFails: 7,
    cooldownMs: 30_000,
  })
  expect(found.warnings.map(one => one.replace(/^c\.yaml:\d+:\d+ router_settings\./, '')).sort()).toEqual([
    'allowed_fails_policy.BadRequestErrorAllowedFails: has no effect here: what the request of a client is refused ' +
      'for cools no deployment down',
    'model_group_retry_policy.gone: has no effect: no model is named `gone`',
    expect.stringMatching(/^retry_policy\.OtherErrorRetries: has no effect here: it is not known/),
  ])
  expect(read('router_settings: { retry_policy: { TimeoutErrorRetries: 9 } }\n').warnings).toEqual([
    expect.stringContaining('router_settings.retry_policy: at most 6 attempts are made for a call'),
  ])
  const own = listed(entry(`${plain}, cooldown_time: 20`))
  expect(read('router_settings: { cooldown_time: 9 }\n', own).deployments[0]!.cooldownMs).toBe(20_000)
  const never = read('router_settings: { cooldown_time: 9, disable_cooldowns: true }\n', own)
  expect([never.cooldownMs, never.deployments[0]!.cooldownMs, never.warnings]).toEqual([0, undefined, []])
})

test('tags of deployments are read, and are a warning where they are not asked for', () => {
  const tagged = listed(entry(`${plain}, tags: [paid, default]`))
  const read = (router: string) => served(`${tagged}router_settings: { ${router} }\n`)
  const { settings, deployments } = read('enable_tag_filtering: true')
  expect([settings.router.tagFilter, deployments[0]!.tags, settings.warnings]).toEqual([
    { matches: 'any' },
    ['paid', 'default'],
    [],
  ])
  const strict = read('enable_tag_filtering: true, tag_filtering_match_any: false').settings.router
  expect(strict.tagFilter).toEqual({ matches: 'all' })
  const off = read('enable_tag_filtering: false').settings
  expect([off.router.tagFilter, off.warnings]).toEqual([
    undefined,
    [expect.stringContaining('litellm_params.tags: has no effect without `enable_tag_filtering: true`')],
  ])
})

test('a key of LiteLLM that restricts and is not enforced here is a mistake with its remedy, never a warning', () => {
  const values: Readonly<Record<string, string>> = {
    'settings.callbacks': '[hide_secrets, langfuse]',
    'general_settings.allowed_ips': '["10.0.0.1"]',
    'general_settings.ui_access_mode': 'admin_only',
  }
  const file = (pattern: string, value: string): string => {
    const [key, ...sections] = pattern.split('.').reverse()
    const own = `${key}: ${value}`
    if (sections.length === 0) return `${listed(entry(plain))}${own}\n`
    if (sections.at(-1) === 'model_list')
      return listed(
        sections[0] === 'proxy_params' ? entry(`${plain}, ${own}`) : entry(plain, 'm', `, model_info: { ${own} }`),
      )
    const inside = sections.slice(0, -1).reduce((text, name) => `${name}: { ${text} }`, own)
    return `${listed(entry(plain))}${sections.at(-1) === 'settings' ? 'litellm_settings' : sections.at(-1)}: { ${inside} }\n`
  }
  for (const [pattern, remedy] of unenforcedKeys) {
    const { mistakes } = read(file(pattern, values[pattern] ?? 'x'))
    expect([pattern, mistakes.length, mistakes[0]]).toEqual([pattern, 1, expect.stringContaining(remedy)])
    expect(remedy).not.toBe('')
    // What is off restricts nothing.
    for (const off of ['false', 'null']) expect(read(file(pattern, off)).mistakes).toEqual([])
  }
  expect(read(file('settings.callbacks', '[langfuse, prometheus]')).mistakes).toEqual([])
})

test('a model of a team is its own: by name, by id, in place of a shared one, and under its public name', () => {
  const team = (id: string, more = '') => `, model_info: { team_id: ${id}${more} }`
  const { settings } = served(
    listed(
      entry(plain, 'shared'),
      entry(plain, 'fast'),
      entry(plain, 'fast', team('red')),
      entry(plain, 'model_name_red_1', team('red', ', team_public_model_name: "own", id: red-own')),
      entry('model: groq/*, api_key: k', 'groq/*', team('blue')),
    ),
  )
  const index = new ModelIndex(settings, concreteModel)
  const of = (id?: string) => index.ofTeam(id)
  const teamsOf = (view: ModelDirectory, name: string) => view.resolve(name).map(one => one.teamId ?? 'all')
  expect([undefined, 'green', 'red', 'blue'].map(id => teamsOf(of(id), 'fast'))).toEqual([
    ['all'],
    ['all'],
    ['red'],
    ['all'],
  ])
  expect([undefined, 'red', 'blue'].map(id => teamsOf(of(id), 'own'))).toEqual([[], ['red'], []])
  expect([undefined, 'red', 'blue'].map(id => teamsOf(of(id), 'red-own'))).toEqual([[], ['red'], []])
  expect([undefined, 'red', 'blue'].map(id => teamsOf(of(id), 'groq/x'))).toEqual([[], [], ['blue']])
  expect(of('red').resolve('model_name_red_1')).toEqual([])
  expect(teamsOf(of('red'), 'shared')).toEqual(['all'])
  // Two entries that differ in their team alone are two deployments.
  expect(new Set(settings.deployments.map(one => one.id)).size).toBe(settings.deployments.length)
  // The master key calls any by its id, and by a name only what everybody shares.
  const master = index.of(masterCaller)
  expect([teamsOf(master, 'red-own'), teamsOf(master, 'fast'), teamsOf(master, 'own')]).toEqual([['red'], ['all'], []])
  for (const [info, words] of [
    ['team_public_model_name: x', 'give its `team_id`'],
    ['team_id: t, team_public_model_name: "x/*"', 'a pattern'],
  ] as const)
    expect(read(listed(entry(plain, 'm', `, model_info: { ${info} }`))).mistakes).toEqual([
      expect.stringContaining(words),
    ])
})
