/** What was said in a call, kept for people: its request and its answer, encrypted, where that is switched on. */
import type { Reply } from '../answer.ts'
import type { ChatEvent } from '../hub/chat.ts'
import type { ChangeActor } from '../tenancy/change-actor.ts'
import type { VisibleUsage } from './usage-report.ts'

/** What the configuration says of stored bodies. */
export interface BodySettings {
  /** false = nowhere; null = for the keys and teams that say so; true = for all that do not say no. */
  readonly isOn: boolean | null
  /** false = clients cannot keep their calls from being stored. */
  readonly clientsMayRefuse: boolean
  /** Of one request or answer; longer ones are cut. */
  readonly bytesMax: number
  /** Of what open calls and the queue to the database hold together; beyond it nothing is stored. */
  readonly waitingBytesMax: number
  /** Of all that is stored, as the database holds it: the oldest are deleted beyond it. */
  readonly storedBytesMax: number
  /** How long they are kept; whole days as milliseconds. */
  readonly keptMs: number
  /** `owners` = who may read the calls in the ledger; `proxy_admins` = administrators alone. */
  readonly readers: 'owners' | 'proxy_admins'
}

/** One side of a call as text. */
export interface StoredBody {
  /** Empty where `omitted` says why. */
  readonly text: string
  readonly contentType: string
  /** Of the whole, in UTF-8; null = it was not read to its end. */
  readonly bytes: number | null
  /** Only the beginning is here. */
  readonly isCut: boolean
  /** Why it is not here; absent = it is. */
  readonly omitted?: 'binary' | 'masked'
}

/** Both sides of a call. */
export interface CallContent {
  readonly request: StoredBody & {
    /** The client's; of those with secrets that they were there. */
    readonly headers: Readonly<Record<string, string>>
    /** Guardrails or other policies changed it: it is as they left it, in the words of OpenAI's chats or of the hub. */
    readonly isChanged: boolean
  }
  /** null = there was none: the call failed, or its client left. */
  readonly answer: (StoredBody & { readonly status: number; readonly isStream: boolean }) | null
}

/** Whose call it was: the ledger's columns of the same names. */
export interface CallOwner {
  /** A UUID v7. */
  readonly requestId: string
  readonly keyId: string
  readonly userId: string | null
  readonly teamId: string | null
  readonly organizationId: string | null
}

/** What was said in one call. */
export interface CallBodies extends CallOwner {
  readonly said: CallContent
}

/** Why bodies were not stored. */
export type BodyLoss = 'queue_full' | 'database' | 'no_key'

/** Of this process since its start; `waitingBytes` = now. */
export interface BodyCounts {
  readonly stored: number
  readonly lost: Readonly<Record<BodyLoss, number>>
  readonly waitingBytes: number
}

/** Which calls' bodies to delete: one of them. */
export type BodiesOf =
  | { readonly requestId: string }
  | { readonly keyId: string }
  | { readonly userId: string }
  | { readonly teamId: string }

/** Where bodies are taken in. Nothing here waits or throws. */
export interface BodySink {
  /** Takes room for so many bytes; false = there is none, and the call is not stored. Negative = gives it back. */
  hold(bytes: number, settings: BodySettings): boolean
  /** `held` = the room that was taken for it. */
  keep(bodies: CallBodies, held: number, settings: BodySettings): void
}

/** Stored bodies. Throws `overloaded` while the database is away, or what is asked for may be on its way there. */
export interface BodyStore extends BodySink {
  /** undefined = there are none, or none that may be seen; `visible` undefined = all may be. */
  find(requestId: string, visible: VisibleUsage | undefined): Promise<FoundBodies | undefined>
  /** Deletes those that may be seen, in small steps; resolves with how many there were. */
  delete(of: BodiesOf, visible: VisibleUsage | undefined): Promise<number>
  /** Writes to the audit log that they were read, or are about to be deleted. */
  note(action: 'read' | 'deleted', of: BodiesOf, actor: ChangeActor): Promise<void>
  counts(): BodyCounts
}

/** Bodies as they are found. */
export interface FoundBodies extends CallOwner {
  /** null = they cannot be decrypted. */
  readonly said: CallContent | null
  /** Why not; absent = they can. */
  readonly problem?: string
}

/** Takes part in one call that is stored. Must not throw. */
export interface CallBodyCollector {
  /** The reply on its way to the client, once; what is returned goes on. */
  replied(reply: Reply): Reply
  /** Events of the answer before a client's own values are put back into it: they are stored in place of the reply. */
  masked(events: readonly ChatEvent[]): void
  /** The reply has values of the client in it that must not be stored. */
  omitAnswer(): void
}
