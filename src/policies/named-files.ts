/**
 * Uploaded files that a call names: looked up for its key, and written into the body as each upstream reads them. A
 * deployment whose account stores a file gets its own id; others get the content, if the storing upstream allows its
 * download.
 */
import { mayCall } from '../access/models/model-access.ts'
import { ownerOf } from '../core/caller.ts'
import type { Call, CallInAdmission } from '../core/call.ts'
import { nativeProfile } from '../core/deployment.ts'
import type { Deployment } from '../core/deployment.ts'
import { GatewayError, toGatewayError, unprocessable } from '../core/errors.ts'
import type { FaultKind } from '../core/errors.ts'
import { clientClosed } from '../core/request.ts'
import { accountOf } from '../core/objects/files.ts'
import type { FileCalls } from '../core/objects/files.ts'
import type { NamedFiles } from '../core/objects/named-files.ts'
import type { Policy } from '../core/policy.ts'
import type { Format } from '../core/format.ts'
import { withLocalIds } from '../core/dialects/local-ids.ts'
import type { FileRecord, FileStore } from '../core/objects/file-records.ts'
import type { Clock } from '../lib/clock.ts'
import { JsonBody } from '../lib/json/json-body.ts'
import { mediaTypeOf } from '../lib/media-type.ts'
import { fileReferences, rewriteReferences } from './files/file-parts.ts'
import type { FileReference, InlineFile } from './files/file-parts.ts'
import { newMark, withContents } from './files/inlined-body.ts'

/** Different files that one body may name: each is looked up in the database. */
const filesMax = 100
/** Of all files whose content is sent with one call. */
const inlineBytesMax = 16 * 1024 * 1024
/** A body without this name names no file. */
const idField = Buffer.from('file_id')

interface NamedFilesParts {
  readonly files: Pick<FileStore, 'find'>
  readonly fileCalls: Pick<FileCalls, 'bytes'>
  readonly clock: Clock
}

/**
 * Sets `namedFiles` and keeps the candidates that can be given the files. A body that names none costs one search
 * through its bytes. Rejects as `NamedFiles.among` does.
 */
export function namedFiles(parts: NamedFilesParts): Policy {
  return { name: 'named-files', stage: 'body', dryRun: 'preview', admit: call => findNamedFiles(parts, call) }
}

function findNamedFiles(parts: NamedFilesParts, call: Call): Promise<void> | undefined {
  const { format } = call
  if (!format || (call.operation !== 'chat' && call.operation !== 'count-tokens')) return undefined
  if (!call.body!.mentions(namesFile, () => false)) return undefined
  const references = fileReferences(call.body!)
  // Estimates of tokens need no files.
  if (references.length === 0 || (call.operation === 'count-tokens' && call.candidates.every(isInProcess)))
    return undefined
  return resolveNamedFiles(parts, { call, format, references })
}

const namesFile = (part: Buffer): boolean => part.includes(idField)

const isInProcess = ({ target }: Deployment): boolean => target.provider.answer !== undefined

interface FileNamingCall {
  readonly call: CallInAdmission
  readonly format: Format
  readonly references: readonly FileReference[]
}

async function resolveNamedFiles(parts: NamedFilesParts, naming: FileNamingCall): Promise<void> {
  const { call } = naming
  const resolved = new ResolvedFiles(parts, naming, await findRecords(parts.files, naming))
  const candidates = await resolved.among(call.candidates, call.model)
  if (call.client.left) throw clientClosed()
  call.candidates = candidates
  call.namedFiles = resolved
}

/** By the gateway's id. The same error for a file of another key and an unknown one. */
async function findRecords(
  files: NamedFilesParts['files'],
  { call, references }: FileNamingCall,
): Promise<Map<string, FileRecord>> {
  const { caller } = call
  const first = new Map(references.toReversed().map(reference => [reference.id, reference]))
  if (first.size > filesMax)
    throw refused(
      references[filesMax]!,
      `is one of ${first.size} uploaded files that this call names; name at most ${filesMax}`,
    )
  const owner = ownerOf(caller)
  const found = await Promise.all([...first.keys()].map(id => files.find('file', id, owner)))
  const records = new Map(found.flatMap(record => (record ? [[record.id, record]] : [])))
  const unknown = references.find(({ id }) => !records.has(id))
  if (!unknown) return records
  throw refused(
    unknown,
    `this key has no file '${unknown.id}'; GET /v1/files lists those it has, POST /v1/files adds one` +
      contentInstead(unknown, ', or '),
    'not_found',
  )
}

/** The content of a file, or the reason why there is none. */
type Content = { readonly file: InlineFile; readonly bytes: Uint8Array } | { readonly failure: GatewayError }

class ResolvedFiles implements NamedFiles {
  readonly localIds: ReadonlyMap<string, string>
  readonly #parts: NamedFilesParts
  readonly #naming: FileNamingCall
  readonly #records: ReadonlyMap<string, FileRecord>
  /** The deployment that stores each file; undefined = it is no longer configured. */
  readonly #homes: ReadonlyMap<string, Deployment | undefined>
  readonly #contents = new Map<string, Content>()
  /** One per deployment that was tried: a failed attempt may still be sending. */
  readonly #bodies = new Map<Deployment, JsonBody>()

  constructor(parts: NamedFilesParts, naming: FileNamingCall, records: ReadonlyMap<string, FileRecord>) {
    this.#parts = parts
    this.#naming = naming
    this.#records = records
    const { deployments } = naming.call.models.settings
    const homeOf = ({ deploymentId }: FileRecord): Deployment | undefined => {
      const home = deployments.find(one => one.id === deploymentId)
      return home?.target.provider.files && home
    }
    this.#homes = new Map([...records.values()].map(record => [record.id, homeOf(record)]))
    this.localIds = new Map([...records.values()].map(record => [record.upstreamId, record.id]))
  }

  async among(group: readonly Deployment[], model: string): Promise<readonly Deployment[]> {
    const withAll = group.filter(one => this.#neededContents(one).length === 0)
    if (withAll.length > 0 || group.length === 0) return withAll
    const open: Deployment[] = []
    let refusal: unknown
    for (const deployment of group) {
      try {
        await this.#fetchContents(deployment, model)
        open.push(deployment)
      } catch (error) {
        if (!(error instanceof GatewayError) || error.kind === 'client-closed') throw error
        refusal ??= error
      }
    }
    if (open.length === 0) throw refusal
    return open
  }

  bodyFor(deployment: Deployment): JsonBody {
    const known = this.#bodies.get(deployment)
    if (known) return known
    const contents = new Map<string, Uint8Array>()
    const original = this.#naming.call.body!
    const edits = rewriteReferences(original, reference => {
      if (this.#takesId(reference, deployment)) return reference.withId(this.#records.get(reference.id)!.upstreamId)
      const content = this.#contents.get(reference.id)
      if (!content || 'failure' in content)
        throw new GatewayError('internal', `the file '${reference.id}' was not fetched for '${deployment.id}'`)
      contents.set(content.file.data, content.bytes)
      return reference.inlined(content.file)
    })
    const body = JsonBody.read(withContents(original.edited(edits), contents))
    this.#bodies.set(deployment, body)
    return body
  }

  /** The files that the deployment can only be given as content. */
  #neededContents(deployment: Deployment): FileReference[] {
    return this.#naming.references.filter(reference => !this.#takesId(reference, deployment))
  }

  /** true = the same account stores the file, and its chat accepts the id. */
  #takesId(reference: FileReference, deployment: Deployment): boolean {
    const home = this.#homes.get(reference.id)
    if (!home || isInProcess(deployment) || accountOf(home) !== accountOf(deployment)) return false
    // A translated picture cannot be given by id (`providers/openai-compatible/request.ts`).
    return !reference.isPicture || isForwarded(deployment, this.#naming.format)
  }

  /** Fetches the content of the files that the deployment does not store; each counts as often as it is named. */
  async #fetchContents(deployment: Deployment, model: string): Promise<void> {
    const needed = this.#neededContents(deployment)
    const { body } = this.#naming.call
    const bytesMax = Math.max(
      Math.min(inlineBytesMax, Math.floor((this.#naming.call.models.settings.bodyBytesMax - body!.size) * 0.75)),
      0,
    )
    const sumOf = (bytesOf: (id: string) => number): number => needed.reduce((sum, { id }) => sum + bytesOf(id), 0)
    const check = (bytes: number): void => {
      if (bytes > bytesMax)
        throw this.#unusable(needed[0]!, {
          deployment,
          model,
          why: `${bytes} bytes of files cannot travel with a call: at most ${bytesMax} can`,
        })
    }
    check(sumOf(id => this.#records.get(id)!.bytes))
    for (const reference of needed) {
      if (reference.instead === undefined)
        throw this.#unusable(reference, { deployment, model, why: 'only an id will do here' })
      const content = await this.#content(reference.id, bytesMax)
      if ('failure' in content) throw this.#notFetched(reference, content.failure, { deployment, model })
      if (reference.inlined(content.file) === undefined)
        throw refused(
          reference,
          `the file '${reference.id}' is ${content.file.mediaType}, and no picture; send it as a document, or a PNG, ` +
            'JPEG, GIF or WebP file here',
        )
    }
    check(sumOf(id => (this.#contents.get(id) as { bytes: Uint8Array }).bytes.length))
  }

  async #content(id: string, bytesMax: number): Promise<Content> {
    const known = this.#contents.get(id)
    if (known) return known
    // The content, and its text in the body to be sent.
    this.#naming.call.memory?.hold(Math.ceil((this.#records.get(id)!.bytes * 7) / 3))
    const content = await this.#download(id, bytesMax).catch(
      (thrown: unknown): Content => ({ failure: toGatewayError(thrown) }),
    )
    if ('failure' in content && (content.failure.kind === 'client-closed' || content.failure.kind === 'internal'))
      throw content.failure
    if (this.#naming.call.client.left) throw clientClosed()
    this.#contents.set(id, content)
    return content
  }

  async #download(id: string, bytesMax: number): Promise<Content> {
    const { call } = this.#naming
    const { upstreamId, filename } = this.#records.get(id)!
    const deployment = this.#homes.get(id)
    if (!deployment) throw new GatewayError('conflict', 'gone from the configuration')
    const { clock, fileCalls } = this.#parts
    const path = `/files/${encodeURIComponent(upstreamId)}/content`
    const startedMs = clock.monotonicMs()
    try {
      const bytes = await fileCalls.bytes({ request: call.client, deployment, method: 'GET', path }, bytesMax)
      const text = () => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
      return { file: { filename, mediaType: mediaTypeOf(bytes, filename), data: newMark(), text }, bytes }
    } finally {
      call.waitedForUpstream(clock.monotonicMs() - startedMs)
    }
  }

  #notFetched(reference: FileReference, failure: GatewayError, target: FileTarget): GatewayError {
    const { id, path } = reference
    if (failure.kind === 'model-not-found')
      return refused(reference, `the file '${id}' is gone at the upstream that kept it; upload it again`, 'not_found')
    if (!faultsOfUpstream.has(failure.kind))
      return this.#unusable(reference, { ...target, why: 'its content is not handed out there' })
    const { cause, status, retryAfterMs, message } = withLocalIds(failure, this.localIds)
    return new GatewayError(
      failure.kind,
      `${path.join('.')}: the file '${id}' cannot be fetched from the upstream that keeps it: ${message}`,
      {
        cause,
        status,
        retryAfterMs,
        param: path.join('.'),
      },
    )
  }

  /** 422: where the file is stored, why it cannot be used, and what to do. */
  #unusable(reference: FileReference, { deployment, model, why }: FileTarget & { readonly why: string }): GatewayError {
    const { id } = reference
    const home = this.#homes.get(id)
    if (!home)
      return refused(
        reference,
        `the file '${id}' is kept by an upstream that is no longer in the gateway's configuration; upload it again` +
          contentInstead(reference, ', or '),
      )
    const account = accountOf(deployment)
    const isHome = account === accountOf(home)
    // A key that may use only an alias must not learn the model's name.
    const { caller, models } = this.#naming.call
    const isKnown = mayCall(caller, home.modelName, models.settings)
    const takesUploads = account !== undefined && !isHome && !isInProcess(deployment)
    const remedies = [
      ...(takesUploads ? [`upload it with \`model\`: '${model}'`] : []),
      ...(isHome || !isKnown ? [] : [`call '${home.modelName}'`]),
      ...(reference.instead === undefined ? [] : [contentInstead(reference)]),
    ]
    const provider = home.target.provider.name
    const where =
      isHome || isKnown
        ? `the upstream of the model '${isKnown ? home.modelName : model}' (${provider})` +
          (isHome ? '' : `, not by that of '${model}'`)
        : `another upstream (${provider}) than that of '${model}'`
    return refused(
      reference,
      `the file '${id}' is kept by ${where}, and ${why}; ${remedies.join(', or ') || 'leave it out'}`,
    )
  }
}

interface FileTarget {
  readonly deployment: Deployment
  readonly model: string
}

/** Errors of the storing upstream that are not about the file. */
const faultsOfUpstream: ReadonlySet<FaultKind> = new Set<FaultKind>([
  'upstream-rate-limited',
  'upstream-timeout',
  'upstream-unreachable',
  'upstream-closed',
  'upstream-overloaded',
  'upstream-failed',
  'upstream-broken',
  'overloaded',
])

function isForwarded({ target, profile }: Deployment, { dialect }: Format): boolean {
  const { provider } = target
  return (
    profile === nativeProfile &&
    provider.speaks[dialect] !== undefined &&
    provider.forwards?.(target, dialect) !== false
  )
}

function contentInstead({ instead }: FileReference, before = ''): string {
  return instead === undefined ? '' : `${before}send its content as \`${instead}\``
}

function refused({ path }: FileReference, msg: string, type = 'invalid'): GatewayError {
  return unprocessable([{ loc: ['body', ...path], msg, type }])
}
