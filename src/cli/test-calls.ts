/** Real calls of the models of a configuration, by a gateway of its own that ends with them. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startServer } from '../app/index.ts'
import { knownModels } from '../config/prices/known-models.ts'
import { builtInModels } from '../config/prices/price-list.ts'
import { openSettings } from '../config/settings-source.ts'
import type { Deployment } from '../core/deployment.ts'
import { Secret } from '../lib/secret.ts'
import { providers } from '../providers/index.ts'
import type { CommandInput } from './command.ts'
import { askWithKey, textOf } from './gateway-access.ts'
import type { GatewayAccess } from './gateway-access.ts'
import { configFile } from './options.ts'

/** How a test call of a deployment has ended. */
export interface TestedModel {
  readonly model: string
  readonly upstream: string
  /** Where the deployment is configured. */
  readonly source: string
  /** `skipped` = nothing was sent; `warning` = it may be the choice of the model that failed, not the key. */
  readonly state: 'ok' | 'warning' | 'failed' | 'skipped'
  /** Why, or what was answered. */
  readonly message: string
  readonly tookMs: number
}

/** The smallest that every vendor takes. */
const outputTokensMax = 16
const callMsMax = 60_000

/** Kinds of models that cost next to nothing to call. */
const requests: Readonly<Record<string, { readonly path: string; body(model: string): object } | undefined>> = {
  chat: {
    path: '/v1/chat/completions',
    body: model => ({
      model,
      messages: [{ role: 'user', content: 'Answer with the word ok.' }],
      max_tokens: outputTokensMax,
      ...ownWay,
    }),
  },
  embedding: { path: '/v1/embeddings', body: model => ({ model, input: 'ok', ...ownWay }) },
}
/** A second attempt, or another model, would hide what is wrong with this one. */
const ownWay = { num_retries: 0, fallbacks: [] }

/**
 * Calls each deployment of the configuration once, or those whose public name, id or pattern is `named`. What was made
 * by API is not among them. Costs what a few tokens cost.
 */
export async function testCalls(
  { flags, environment }: Pick<CommandInput, 'flags' | 'environment'>,
  named: string | undefined,
): Promise<TestedModel[]> {
  const file = configFile(flags, environment)
  const source = await openSettings({ configFile: file, environment, providers })
  const { deployments } = source.current()
  const chosen = deployments.filter(one => (named === undefined ? !isBuiltIn(one) : isNamed(one, named)))
  if (chosen.length === 0) return []
  const folder = mkdtempSync(join(tmpdir(), 'modelgate-test-'))
  const key = `sk-${randomBytes(32).toString('base64url')}`
  const server = await startServer({
    configFile: file,
    host: '127.0.0.1',
    port: 0,
    dataDirectory: folder,
    masterKey: new Secret(key),
    databaseUrl: `sqlite:${join(folder, 'modelgate.sqlite')}`,
    environment: { ...environment, MODELGATE_LOG_LEVEL: 'off', MODELGATE_DRAIN_MS: '0', MODELGATE_DRAIN_DELAY_MS: '0' },
  })
  try {
    const access = { url: server.url.replace(/\/$/, ''), key }
    return await Promise.all(chosen.map(one => tested(access, one, named)))
  } finally {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

const isBuiltIn = ({ origin }: Deployment): boolean => origin.kind === 'built-in'

const isNamed = ({ id, modelName }: Deployment, named: string): boolean =>
  id === named ||
  modelName === named ||
  (modelName.includes('*') && new RegExp(`^${modelName.split('*').map(RegExp.escape).join('.*')}$`).test(named))

async function tested(access: GatewayAccess, one: Deployment, named: string | undefined): Promise<TestedModel> {
  const about = (model: string) => ({
    model,
    upstream: `${one.target.provider.name}/${one.target.model}`,
    source: one.origin.where,
  })
  const model = calledName(one, named)
  if (model === undefined)
    return skipped(
      about(one.modelName),
      'a pattern: name a model of it, as in modelgate models test openai/gpt-4o-mini',
    )
  const request = requests[one.mode]
  if (!request) return skipped(about(one.modelName), `${one.mode} is not called: it costs more than a few tokens`)
  const startMs = performance.now()
  const ended = (state: TestedModel['state'], message: string) => ({
    ...about(model.shown),
    state,
    message,
    tookMs: Math.round(performance.now() - startMs),
  })
  try {
    const body = request.body(model.called)
    await textOf(await askWithKey(access, request.path, { body, limitMs: callMsMax }))
    return ended('ok', 'it answers')
  } catch (error) {
    const { message } = error as Error
    // The key is good then, and the model was our choice.
    return ended(model.isGuess && /^(400|404|422): /.test(message) ? 'warning' : 'failed', message)
  }
}

const skipped = (about: Pick<TestedModel, 'model' | 'upstream' | 'source'>, message: string): TestedModel => ({
  ...about,
  state: 'skipped',
  message,
  tookMs: 0,
})

interface CalledName {
  readonly called: string
  readonly shown: string
  readonly isGuess: boolean
}

/** By its id, so that none of its name answers in its place; of a pattern the model that was named, or a cheap one. */
function calledName({ id, modelName, target }: Deployment, named: string | undefined): CalledName | undefined {
  if (!modelName.includes('*')) return { called: id, shown: modelName, isGuess: false }
  if (named !== undefined && named !== modelName && named !== id) return { called: named, shown: named, isGuess: false }
  const cheap = cheapestChat(target.provider.name)
  if (cheap === undefined || modelName.split('*').length !== 2) return undefined
  const name = modelName.replace('*', cheap)
  return { called: name, shown: name, isGuess: true }
}

/** The cheapest model of the vendor that has a price and writes texts. */
function cheapestChat(provider: string): string | undefined {
  const listed = builtInModels(provider)
  const priced = knownModels(provider).flatMap(name => {
    const entry = listed.get(name) ?? listed.get(name.toLowerCase())
    const price = Number(entry?.prices.input ?? 0) + Number(entry?.prices.output ?? 0)
    return entry && (entry.mode ?? 'chat') === 'chat' && price > 0 ? [{ name, price }] : []
  })
  return priced.toSorted((a, b) => a.price - b.price)[0]?.name
}
