import { expect, test } from 'bun:test'
import type { Deployment } from '../../core/deployment.ts'
import type { GatewayError } from '../../core/errors.ts'
import { providers } from '../../providers/index.ts'
import { proxyProblem } from './proxies.ts'
import { readSettings } from '../read-settings.ts'

type Environment = Record<string, string>

function read(text: string | undefined, environment: Environment = {}) {
  return readSettings({ text, file: text === undefined ? undefined : 'config.yaml', environment, providers })
}

const entry = (params = '', name = 'm') =>
  `  - model_name: ${name}\n    proxy_params: { model: openai/gpt-4o, api_key: k${params} }\n`

function deployments(text: string | undefined, environment?: Environment): readonly Deployment[] {
  const { settings, mistakes } = read(text, environment)
  expect(mistakes).toEqual([])
  return settings!.deployments
}

/** `host:port` of the proxy for a URL, with `https:` before it for a proxy with TLS; '' = none. */
function way({ proxies }: Deployment, url: string): string {
  const proxy = proxies?.proxyFor(new URL(url))
  return proxy ? `${proxy.secure ? 'https:' : ''}${proxy.name}` : ''
}

const environments: [what: string, environment: Environment, toHttps: string, toHttp: string][] = [
  ['nothing', {}, '', ''],
  ['HTTPS_PROXY', { HTTPS_PROXY: 'http://up:3128' }, 'up:3128', ''],
  ['HTTP_PROXY', { HTTP_PROXY: 'http://up:3128/' }, '', 'up:3128'],
  [
    'lower case wins',
    { HTTPS_PROXY: 'http://up:1', https_proxy: 'http://low:2', HTTP_PROXY: 'http://up:3', http_proxy: 'http://low:4' },
    'low:2',
    'low:4',
  ],
  ['ALL_PROXY is for what has no other', { ALL_PROXY: 'http://all:1', HTTP_PROXY: 'http://up:2' }, 'all:1', 'up:2'],
  ['all_proxy', { all_proxy: 'http://low:1', ALL_PROXY: 'http://all:1' }, 'low:1', 'low:1'],
  [
    'empty is unset',
    { https_proxy: '', HTTPS_PROXY: ' ', ALL_PROXY: 'http://all:1', http_proxy: '' },
    'all:1',
    'all:1',
  ],
  ['no scheme means http', { HTTPS_PROXY: 'proxy.example:3128' }, 'proxy.example:3128', ''],
  [
    'a scheme has its port',
    { HTTPS_PROXY: 'https://proxy.example', HTTP_PROXY: 'http://proxy.example' },
    'https:proxy.example:443',
    'proxy.example:80',
  ],
  ['IPv6', { HTTPS_PROXY: 'http://[fd00::1]:3128' }, '[fd00::1]:3128', ''],
  ['NO_PROXY', { ALL_PROXY: 'http://all:1', NO_PROXY: 'example.org, upstream.example:8000' }, 'all:1', ''],
  ['no_proxy wins', { ALL_PROXY: 'http://all:1', no_proxy: 'example.org', NO_PROXY: '*' }, 'all:1', 'all:1'],
  ['NO_PROXY=*', { ALL_PROXY: 'http://all:1', NO_PROXY: '*' }, '', ''],
]
for (const [what, environment, toHttps, toHttp] of environments)
  test(`the environment: ${what}`, () => {
    const [one] = deployments(`model_list:\n${entry()}`, environment)
    expect([way(one!, 'https://upstream.example/v1'), way(one!, 'http://upstream.example:8000/v1')]).toEqual([
      toHttps,
      toHttp,
    ])
  })

test(
  'models without a file are reached through it as well, and the variables of the file count after those of the ' +
    'process',
  () => {
    const found = deployments(undefined, { OPENAI_API_KEY: 'k', HTTPS_PROXY: 'http://up:1' }).find(
      one => one.modelName === 'openai/*',
    )
    expect(way(found!, 'https://api.openai.com/v1')).toBe('up:1')
    const text =
      `model_list:\n${entry()}environment_variables: { HTTPS_PROXY: "http://file:1", HTTP_PROXY: ` +
      '"http://file:2" }\n'
    const [one] = deployments(text, { HTTPS_PROXY: 'http://process:1' })
    expect([way(one!, 'https://a.example'), way(one!, 'http://a.example')]).toEqual(['process:1', 'file:2'])
  },
)

test('without any proxy a deployment carries no rules', () => {
  expect(
    deployments(`model_list:\n${entry()}${entry(', proxy: false', 'n')}`, { NO_PROXY: 'a.example' }).map(
      one => one.proxies,
    ),
  ).toEqual(Array.from(deployments(`model_list:\n${entry()}${entry('', 'n')}`), () => undefined))
})

test('precedence: deployment, file, environment', () => {
  const list = `model_list:\n${entry()}${entry(', proxy: "http://own:2"', 'n')}${entry(', proxy: false', 'o')}`
  const ways = (text: string, url = 'https://a.example') =>
    deployments(text, { ALL_PROXY: 'http://environment:1', NO_PROXY: 'exempt.example' })
      .slice(0, 3)
      .map(one => way(one, url))
  expect(ways(list)).toEqual(['environment:1', 'own:2', ''])
  const general = `${list}general_settings: { proxy: "http://general:3" }\n`
  expect(ways(general)).toEqual(['general:3', 'own:2', ''])
  expect(ways(general, 'http://a.example')).toEqual(['general:3', 'own:2', ''])
  expect(ways(general, 'https://exempt.example')).toEqual(['', 'own:2', ''])
  expect(ways(`${list}general_settings: { proxy: false }\n`)).toEqual(['', 'own:2', ''])
})

test('loopback is reached directly, unless the deployment has a proxy and NO_PROXY does not name it', () => {
  const list =
    `model_list:\n${entry()}${entry(', proxy: "http://own:2"', 'n')}general_settings: { proxy: ` +
    '"http://general:3" }\n'
  const ways = (url: string, environment: Environment = {}) =>
    deployments(list, environment)
      .slice(0, 2)
      .map(one => way(one, url))
  for (const url of ['http://localhost:11434', 'http://127.0.0.1:8000', 'https://[::1]']) {
    expect(ways(url)).toEqual(['', 'own:2'])
    expect(ways(url, { NO_PROXY: 'localhost,127.0.0.0/8,::1' })).toEqual(['', ''])
  }
})

test('metadata services, which issue credentials, are never reached through a proxy', () => {
  const list = `model_list:\n${entry(', proxy: "http://own:2"')}${entry('', 'n')}`
  for (const one of deployments(list, { ALL_PROXY: 'http://all:1' }).slice(0, 2))
    for (const url of ['http://metadata.google.internal/computeMetadata/v1/x', 'http://169.254.169.254/latest'])
      expect(way(one, url)).toBe('')
})

test('user and password become Basic credentials, and are never shown', () => {
  const proxyOf = (setting: string) => {
    const [one] = deployments(`model_list:\n${entry(`, proxy: "${setting}"`)}`)
    return { one: one!, proxy: one!.proxies!.proxyFor(new URL('https://a.example'))! }
  }
  const { one, proxy } = proxyOf('http://us%40er:p%23ss%3Aw%C3%B6rd@own:2')
  expect(proxy.authorization!.reveal()).toBe(`Basic ${Buffer.from('us@er:p#ss:wörd').toString('base64')}`)
  expect(proxyOf('http://user@own:2').proxy.authorization!.reveal()).toBe(`Basic ${btoa('user:')}`)
  const shown = [JSON.stringify(one.proxies), JSON.stringify(proxy), Bun.inspect(one, { depth: 9 }), one.id].join()
  for (const secret of ['us@er', 'us%40er', 'p#ss', 'p%23ss', proxy.authorization!.reveal().slice(6)])
    expect(shown).not.toContain(secret)
  const keys = ['http://a:b@own:2', 'http://a:c@own:2', 'http://own:2', 'https://own:2', 'http://own:3'].map(
    setting => proxyOf(setting).proxy.key,
  )
  expect(new Set(keys).size).toBe(keys.length)
  expect(proxyOf('http://own:2/').proxy.key).toBe(proxyOf('http://own:2').proxy.key)
})

test('equal settings share their rules, so that their connections are shared', () => {
  const [one, other] = deployments(
    `model_list:\n${entry(', proxy: "http://own:2"')}${entry(', proxy: "http://own:2", weight: 2')}`,
  )
  expect(one!.proxies).toBe(other!.proxies!)
})

test('an invalid proxy is a mistake with its position, and is not shown', () => {
  const problems = [
    ['socks5://u:hunter2@p:1', 'proxies of the kind socks5 are not supported'],
    ['http://user:hunter2#x@p:1', 'is no URL of a proxy'],
    ['http://p:1/hunter2', 'is no URL of a proxy'],
    ['http://p:99999', 'is no URL of a proxy'],
    ['http://p:0', 'is no URL of a proxy'],
    ['http://a%3Ab:hunter2@p:1', 'is no URL of a proxy'],
    ['http://u:hunter2%0A@p:1', 'is no URL of a proxy'],
    ['http://u:hunter2%zz@p:1', 'is no URL of a proxy'],
    ['http://', 'is no URL of a proxy'],
    ['', 'is no URL of a proxy'],
  ] as const
  for (const [setting, problem] of problems) {
    expect(proxyProblem(setting)).toStartWith(problem)
    const { mistakes } = read(`model_list:\n${entry(`, proxy: "${setting}"`)}`)
    expect(mistakes).toEqual([expect.stringContaining(`config.yaml:3:62 model_list.0.proxy_params.proxy: ${problem}`)])
    expect(read(`general_settings: { proxy: "${setting}" }\n`).mistakes).toEqual([
      expect.stringContaining(`general_settings.proxy: ${problem}`),
    ])
    expect(mistakes.join()).not.toContain('hunter2')
  }
  for (const wrong of ['true', '5', '{ url: "http://u:hunter2@p:1" }', 'null']) {
    const { mistakes } = read(`model_list:\n${entry(`, proxy: ${wrong}`)}`)
    expect(mistakes).toEqual([
      expect.stringMatching(
        new RegExp(
          '^config\\.yaml:3:62 model_list\\.0\\.proxy_params\\.proxy: must be the URL of a proxy.*' +
            'or false for none; got (nothing|a (boolean|number|map))$',
        ),
      ),
    ])
  }
})

test('a variable that cannot be used is a mistake as soon as a deployment needs it', () => {
  const environment = { https_proxy: 'socks5h://u:hunter2@p:1' }
  expect(read(`model_list:\n${entry()}${entry('', 'n')}`, environment).mistakes).toEqual([
    'https_proxy: proxies of the kind socks5h are not supported; give an http:// or https:// one; or set ' +
      'general_settings.proxy',
  ])
  const local = ', api_base: "http://127.0.0.1:8000/v1"'
  for (const good of [
    `model_list:\n${entry(local)}`,
    `model_list:\n${entry(', proxy: false')}`,
    `model_list:\n${entry(', proxy: "http://p:1"')}`,
    `model_list:\n${entry()}general_settings: { proxy: false }\n`,
    `model_list:\n${entry(', api_base: "http://inside.example/v1"')}`,
  ])
    expect(read(good, environment).mistakes).toEqual([])
  expect(read(`model_list:\n${entry()}`, { ...environment, NO_PROXY: 'openai.com' }).mistakes).toEqual([])
  // Its tokens may come from another host: for an address that needs the proxy the rules throw.
  const [one] = deployments(`model_list:\n${entry(', api_base: "http://inside.example/v1"')}`, environment)
  let thrown: GatewayError | undefined
  try {
    one!.proxies!.proxyFor(new URL('https://tokens.example'))
  } catch (error) {
    thrown = error as GatewayError
  }
  expect(thrown?.kind).toBe('upstream-unreachable')
  expect(String(thrown?.cause)).toContain('https_proxy: proxies of the kind socks5h')
  expect(String(thrown?.cause)).not.toContain('hunter2')
})

test('invalid entries of NO_PROXY are warnings', () => {
  const warnings = (environment: Environment) =>
    read(`model_list:\n${entry()}`, { NO_PROXY: 'a.example,10.0.0.0/99', ...environment }).settings!.warnings.filter(
      one => one.startsWith('NO_PROXY'),
    )
  expect(warnings({})).toEqual([])
  expect(warnings({ HTTPS_PROXY: 'http://p:1' })).toEqual([
    'NO_PROXY: `10.0.0.0/99` is no host, address or range, as example.com, 10.1.2.3 or 10.0.0.0/8; it has no effect',
  ])
})
