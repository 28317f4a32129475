/**
 * HTTP proxies for upstreams: settings of the file, or the environment variables that curl uses
 * (curl.se/docs/manpage.html#ENVIRONMENT, everything.curl.dev/usingcurl/proxies/env.html).
 */
import { createHash } from 'node:crypto'
import type { Deployment } from '../../core/deployment.ts'
import { GatewayError } from '../../core/errors.ts'
import type { ProxyRules, UpstreamProxy } from '../../core/transport.ts'
import { isLinkLocal, isLoopback, NoProxy } from '../../lib/no-proxy.ts'
import type { HostAndPort } from '../../lib/no-proxy.ts'
import { Secret } from '../../lib/secret.ts'
import type { Environment } from '../environment.ts'

/** The URL of a proxy; false = none. */
type ProxySetting = string | false

/** Message for a setting that is neither a text nor false. */
export const proxySettingHelp = 'must be the URL of a proxy, as `http://proxy.example.com:3128`, or false for none'

/** The proxy of a URL scheme, or why it cannot be used. */
type Choice = { readonly proxy: UpstreamProxy } | { readonly problem: string }

/** What is wrong with a proxy URL. Never shows the URL, which may hold a password. */
export function proxyProblem(text: string): string | undefined {
  const choice = readProxy(text)
  return 'problem' in choice ? choice.problem : undefined
}

/** `[http[s]://][user:password@]host[:port]`. */
function readProxy(text: string): Choice {
  const trimmed = text.trim()
  const [, scheme = 'http'] = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(trimmed) ?? []
  if (!/^https?$/i.test(scheme))
    return { problem: `proxies of the kind ${scheme.toLowerCase()} are not supported; give an http:// or https:// one` }
  const address = trimmed.includes('://') ? trimmed : `http://${trimmed}`
  if (!URL.canParse(address)) return { problem: unreadable }
  const url = new URL(address)
  if (url.pathname !== '/' || url.search || url.hash) return { problem: unreadable }
  const credentials = credentialsOf(url)
  if (credentials === null) return { problem: unreadable }
  const secure = url.protocol === 'https:'
  const port = url.port ? Number(url.port) : secure ? 443 : 80
  if (port === 0) return { problem: unreadable }
  const authorization = credentials && `Basic ${Buffer.from(credentials, 'utf8').toString('base64')}`
  const name = `${url.hostname}:${port}`
  return {
    proxy: {
      key: `${url.protocol}//${name} ${createHash('sha256')
        .update(authorization ?? '')
        .digest('hex')
        .slice(0, 16)}`,
      name,
      secure,
      hostname: url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname,
      port,
      authorization: authorization === undefined ? undefined : new Secret(authorization),
    },
  }
}

const unreadable =
  'is no URL of a proxy: it has a host and a port, `http://proxy.example.com:3128`, and may have a user with a ' +
  'password; ' +
  'write their special characters with a percent sign, `#` as %23'

/** `user:password`; undefined = none; null = invalid. */
function credentialsOf({ username, password }: URL): string | undefined | null {
  if (!username && !password) return undefined
  try {
    const user = decodeURIComponent(username)
    const text = `${user}:${decodeURIComponent(password)}`
    // RFC 7617: the user name has no colon, and control characters are not allowed.
    return user.includes(':') || /\p{Cc}/u.test(text) ? null : text
  } catch {
    return null
  }
}

/** `host:port` of a proxy URL, safe to show or hash; false if it is false or invalid. */
export function proxyWithoutSecrets(setting: ProxySetting): string | false {
  const choice = setting !== false && readProxy(setting)
  return choice && 'proxy' in choice ? `${choice.proxy.secure ? 'https' : 'http'}://${choice.proxy.name}` : false
}

function hostAndPort(url: URL): HostAndPort {
  return { hostname: url.hostname, port: url.port ? Number(url.port) : url.protocol === 'https:' ? 443 : 80 }
}

/** Rules of the environment or `general_settings`: all hosts except this machine and NO_PROXY. */
class SharedRules implements ProxyRules {
  readonly #https: Choice | undefined
  readonly #http: Choice | undefined
  readonly #noProxy: NoProxy

  constructor({ https, http, noProxy }: { https: Choice | undefined; http: Choice | undefined; noProxy: NoProxy }) {
    this.#https = https
    this.#http = http
    this.#noProxy = noProxy
  }

  proxyFor(url: URL): UpstreamProxy | undefined {
    const choice = this.#choiceFor(url)
    if (!choice) return undefined
    if ('proxy' in choice) return choice.proxy
    const message =
      'the proxy that the gateway should use for this upstream is not set correctly; the log says what is wrong'
    throw new GatewayError('upstream-unreachable', message, { cause: new Error(choice.problem) })
  }

  /** The reason why `proxyFor` would throw. */
  problemFor(url: URL): string | undefined {
    const choice = this.#choiceFor(url)
    return choice && 'problem' in choice ? choice.problem : undefined
  }

  #choiceFor(url: URL): Choice | undefined {
    const choice = url.protocol === 'https:' ? this.#https : this.#http
    if (!choice || isLoopback(url.hostname) || isLinkLocal(url.hostname)) return undefined
    return this.#noProxy.names(hostAndPort(url)) ? undefined : choice
  }
}

/** Rules of one deployment: all hosts, this machine too unless NO_PROXY names it. */
class OwnRules implements ProxyRules {
  readonly #proxy: UpstreamProxy
  readonly #noProxy: NoProxy

  constructor(proxy: UpstreamProxy, noProxy: NoProxy) {
    this.#proxy = proxy
    this.#noProxy = noProxy
  }

  proxyFor(url: URL): UpstreamProxy | undefined {
    if (isLinkLocal(url.hostname)) return undefined
    return isLoopback(url.hostname) && this.#noProxy.names(hostAndPort(url)) ? undefined : this.#proxy
  }
}

const noProxyNames = ['no_proxy', 'NO_PROXY']

/** The proxy settings of one configuration. */
export class ProxySettings {
  readonly warnings: readonly string[]
  readonly #noProxy: NoProxy
  /** Absent = only single deployments have a proxy. */
  readonly #shared: SharedRules | undefined
  /** By setting; equal settings share one object. */
  readonly #own = new Map<string, ProxyRules>()

  /** `general` has to be valid by `proxyProblem`; absent = the environment decides. */
  constructor(general: ProxySetting | undefined, environment: Environment) {
    const noProxy = firstOf(environment, noProxyNames)
    this.#noProxy = new NoProxy(noProxy?.value ?? '')
    const given = general === undefined || general === false ? undefined : readProxy(general)
    const ofEnvironment = (...names: string[]): Choice | undefined =>
      general === undefined ? choiceOf(firstOf(environment, [...names, 'all_proxy', 'ALL_PROXY'])) : given
    const https = ofEnvironment('https_proxy', 'HTTPS_PROXY')
    const http = ofEnvironment('http_proxy', 'HTTP_PROXY')
    this.#shared = https || http ? new SharedRules({ https, http, noProxy: this.#noProxy }) : undefined
    // Without a proxy NO_PROXY has no effect.
    const unreadable = this.#shared ? this.#noProxy.unreadable : []
    this.warnings = unreadable.map(
      entry =>
        `${noProxy?.name}: \`${entry}\` is no host, address or range, as example.com, 10.1.2.3 or 10.0.0.0/8; it ` +
        'has no effect',
    )
  }

  /** `own` = the setting of the deployment, valid by `proxyProblem`; undefined = none. */
  rulesFor(own: ProxySetting | undefined): ProxyRules | undefined {
    if (own === undefined) return this.#shared
    if (own === false) return undefined
    const known = this.#own.get(own)
    if (known) return known
    const choice = readProxy(own)
    if ('problem' in choice) throw new Error(`the proxy of a deployment ${choice.problem}`)
    const rules = new OwnRules(choice.proxy, this.#noProxy)
    this.#own.set(own, rules)
    return rules
  }

  /** Environment variables that these deployments need and that are invalid. */
  mistakes(deployments: readonly Deployment[]): string[] {
    const found = new Set<string>()
    for (const { proxies, target } of deployments) {
      if (proxies !== this.#shared || !URL.canParse(target.baseUrl)) continue
      const problem = this.#shared?.problemFor(new URL(target.baseUrl))
      if (problem !== undefined) found.add(problem)
    }
    return [...found]
  }
}

function choiceOf(variable: ReturnType<typeof firstOf>): Choice | undefined {
  const choice = variable && readProxy(variable.value)
  return choice && 'problem' in choice
    ? { problem: `${variable.name}: ${choice.problem}; or set general_settings.proxy` }
    : choice
}

/** An empty variable counts as none, as with curl. */
function firstOf(environment: Environment, names: readonly string[]): { name: string; value: string } | undefined {
  const name = names.find(one => (environment[one] ?? '').trim() !== '')
  return name === undefined ? undefined : { name, value: environment[name]! }
}
