/** How commands ask a running gateway: its address and a key. */
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { CommandInput, Flag } from './command.ts'
import { UsageError } from './command.ts'
import { nonEmpty, text } from './options.ts'
import { textOfFile } from '../config/reading/text-of-file.ts'

/** Read by `gatewayAccess`. */
export const accessFlags: Readonly<Record<string, Flag>> = {
  url: { type: 'string', value: 'URL', help: 'Address of the gateway (MODELGATE_URL; default http://127.0.0.1:4000)' },
  'key-file': { type: 'string', value: 'FILE', help: 'File with a key (MODELGATE_KEY or MODELGATE_MASTER_KEY)' },
}

/** Where a gateway is asked, and as whom. */
export interface GatewayAccess {
  readonly url: string
  readonly key: string
}

/** Throws UsageError where there is no key, or no address that can be read. */
export function gatewayAccess({ flags, environment }: Pick<CommandInput, 'flags' | 'environment'>): GatewayAccess {
  const given = text(flags.url) ?? nonEmpty(environment.MODELGATE_URL) ?? 'http://127.0.0.1:4000'
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol))
    throw new UsageError(`--url must be an address such as http://127.0.0.1:4000; got '${given}'`)
  const file = text(flags['key-file'])
  const key =
    file === undefined
      ? (nonEmpty(environment.MODELGATE_KEY) ?? nonEmpty(environment.MODELGATE_MASTER_KEY))
      : textOfFile(file).trim()
  if (!key) throw new UsageError('a key is needed: set MODELGATE_KEY, or name a file with one by --key-file')
  return { url: given.replace(/\/+$/, ''), key }
}

/** What is asked. */
interface Question {
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON by POST; absent = a GET. */
  readonly body?: object
  /** Absent = an answer may take any time, as a stream does. */
  readonly limitMs?: number
}

/** Asks with the key; throws an error with the gateway's own words, or that it cannot be reached. */
export async function askWithKey(
  { url, key }: GatewayAccess,
  path: string,
  question: Question = {},
): Promise<Readable> {
  const headers = { ...question.headers, authorization: `Bearer ${key}` }
  const answer = await ask(`${url}${path}`, { ...question, headers }).catch((error: Error) => {
    throw new Error(`the gateway at ${url} cannot be asked: ${error.message}; start it, or give --url`)
  })
  if (answer.statusCode === 200) return answer
  throw new Error(wordsOf(answer.statusCode ?? 0, await textOf(answer)))
}

/** Asks an address without a key. Rejects where there is no answer. */
export async function ask(address: string, { headers = {}, body, limitMs }: Question): Promise<IncomingMessage> {
  const { request } = address.startsWith('https:') ? await import('node:https') : await import('node:http')
  const content = body === undefined ? undefined : JSON.stringify(body)
  const ofBody = content === undefined ? {} : { 'content-type': 'application/json' }
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const sent = request(
    address,
    { method: content === undefined ? 'GET' : 'POST', agent: false, headers: { ...ofBody, ...headers } },
    resolve,
  )
  const stop = () => void sent.destroy(new Error(`no answer within ${limitMs! / 1000} seconds`))
  const timer = limitMs === undefined ? undefined : setTimeout(stop, limitMs)
  sent.on('error', reject)
  sent.end(content)
  return promise.finally(() => clearTimeout(timer))
}

/** The whole of a stream of text. */
export async function textOf(stream: Readable): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of stream as AsyncIterable<Buffer>) pieces.push(piece)
  return Buffer.concat(pieces).toString('utf8')
}

/** What an answer says of its error. */
function wordsOf(status: number, content: string): string {
  try {
    const { error, detail } = JSON.parse(content) as { error?: { message?: string }; detail?: unknown }
    return `${status}: ${error?.message ?? JSON.stringify(detail ?? content)}`
  } catch {
    return `${status}: ${content.slice(0, 300)}`
  }
}
