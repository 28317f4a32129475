/** Calls about files and batches to the upstream that stores them. Implemented by `pipeline/files/file-call.ts`. */
import { CryptoHasher } from 'bun'
import type { Edit } from '../../lib/json/json-body.ts'
import { Secret } from '../../lib/secret.ts'
import type { AnswerStream } from '../answer.ts'
import type { RunningCall } from '../call.ts'
import { identityKey } from '../cloud-identity.ts'
import type { Deployment } from '../deployment.ts'
import type { Outcome } from '../hub/operation.ts'
import type { Client } from '../request.ts'
import type { Upload, UploadPart } from '../upload.ts'

/** What is sent: JSON, or a form with some of its fields changed. */
export type FileBody = { readonly json: unknown } | { readonly upload: Upload; readonly edits: readonly Edit[] }

/** One call of an upstream's files API. */
export interface FileCall {
  /** The client that ends the call when it leaves. */
  readonly request: Client
  /** The call that this belongs to, on which the deployment and the attempt are recorded. */
  readonly of?: RunningCall
  /** Its provider has `files`. */
  readonly deployment: Deployment
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Begins with `/files` or `/batches`. */
  readonly path: string
  readonly body?: FileBody
  /** Continues when the client leaves: what it creates or deletes at the upstream must be recorded here. */
  readonly outlivesClient?: boolean
  /** Timeout of the exchange; absent = the deployment's. */
  readonly totalMs?: number
  /** Called when it fails: whether its upstream was given anything of it. */
  failed?(sent: boolean): void
}

/** The bytes of a file, as the upstream sends them. */
export interface FileContent {
  /** At the pace of the client. It errors when the upstream cuts it. */
  readonly stream: AnswerStream
  /** The upstream's; undefined = not sent. */
  readonly contentType: string | undefined
  /** Resolves with the outcome once the last byte was sent, or the transfer has failed. */
  readonly over: Promise<Outcome>
}

/**
 * Given one line of a file and its number, from 1, returns the pieces to be sent instead. `line` must not be used
 * afterwards: its memory is reused for the next line. May throw GatewayError.
 */
export type RewriteLine = (line: Uint8Array, number: number) => readonly Uint8Array[] | Promise<readonly Uint8Array[]>

/** Calls of upstreams' files and batches APIs, for the endpoints. */
export interface FileCalls {
  /** The upload with the lines of one part rewritten; closing it closes both. Empty lines are left out. */
  rewriteLines(upload: Upload, part: UploadPart, rewrite: RewriteLine): Promise<Upload>
  /** The JSON object that the upstream answers. Rejects with its error. */
  json(call: FileCall): Promise<Record<string, unknown>>
  content(call: FileCall): Promise<FileContent>
  /** The content as a whole. Rejects with `upstream-broken` when it is larger than `bytesMax`. */
  bytes(call: FileCall, bytesMax: number): Promise<Uint8Array>
}

/**
 * Equal for deployments with the same files behind them: the same address and the same credentials. undefined = its
 * provider has no files.
 */
export function accountOf(deployment: Deployment): string | undefined {
  let account = accounts.get(deployment)
  if (account === undefined) accounts.set(deployment, (account = accountHash(deployment) ?? null))
  return account ?? undefined
}

/** null = no files. Hashes, so that credentials are not held a second time. */
const accounts = new WeakMap<Deployment, string | null>()

function accountHash({ target }: Deployment): string | undefined {
  const { provider, options, identity } = target
  if (!provider.files) return undefined
  const { url, headers } = provider.files.head(target, '/files')
  // Where calls are signed, the credentials are not in the headers.
  const signing = provider.authorize
    ? Object.entries(options).map(([name, value]) => [name, value instanceof Secret ? value.reveal() : value])
    : []
  if (identity) signing.push(['identity', identityKey(identity)])
  return new CryptoHasher('sha256').update(JSON.stringify([provider.name, url, headers, signing])).digest('hex')
}

/**
 * true = an id in this gateway's form (`files/objects.ts`): a UUID of version 7 without its dashes.
 * OpenAI's ids are shorter, with letters of both cases; Azure's are UUIDs of version 4.
 */
export function isLocalFileId(id: string): boolean {
  return /^file-[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/.test(id)
}
