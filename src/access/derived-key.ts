/**
 * Keys that are derived from a key, for one run, agent or session: their text holds what they may do, signed. Nothing
 * of them is stored; they end with the key they come from.
 */
import { z } from 'zod'
import type { Caller, DerivedKey } from '../core/caller.ts'
import { bareKey } from '../core/caller.ts'
import { budgetNanoUsdMax } from '../core/tenancy/limits.ts'
import { unlimited } from '../core/tenancy/tenancy.ts'
import { lazy } from '../lib/lazy.ts'
import type { Signer } from '../lib/signer.ts'
import { toolPermission } from './fields/tool-permission.ts'

/** Every derived key begins so. */
export const derivedPrefix = 'mgd_'
/** Longer texts are no derived keys. */
export const derivedLengthMax = 8192
/** A derived key may derive others, each narrower. */
export const derivationsMax = 8

const amount = lazy(() => z.number().int().min(0).max(budgetNanoUsdMax))
const limit = lazy(() => z.number().int().min(0).max(1_000_000_000))

/** What one derivation allows; absent = as the key it comes from. */
const linkSchema = lazy(() =>
  z.strictObject({
    id: z.string().min(1).max(64),
    /** Milliseconds since 1970. */
    end: z.number().int().min(0),
    models: z.array(z.string().min(1).max(255)).max(100).optional(),
    tools: toolPermission().optional(),
    /** Nano-dollars, for its whole life. */
    max: amount().optional(),
    rpm: limit().optional(),
    tpm: limit().optional(),
    parallel: limit().optional(),
  }),
)
/** One derivation, as it stands in the text of a key. */
export type DerivedLink = z.infer<ReturnType<typeof linkSchema>>

const claimsSchema = lazy(() =>
  z.strictObject({
    /** Hash of the key it all comes from. */
    key: z.string().regex(/^[0-9a-f]{64}$/),
    /** The first derivation first. */
    links: z.array(linkSchema()).min(1).max(derivationsMax),
  }),
)
/** What a derived key says. */
export type DerivedClaims = z.infer<ReturnType<typeof claimsSchema>>

/** The text of a derived key. Throws RangeError where it would be too long. */
export function writeDerivedKey(claims: DerivedClaims, sign: Signer): string {
  const payload = Buffer.from(JSON.stringify(claims)).toString('base64url')
  const text = `${derivedPrefix}${payload}.${sign(payload).toString('base64url')}`
  if (text.length > derivedLengthMax) throw new RangeError('the derived key is too long')
  return text
}

/** undefined = it was not made by this installation. `isEqual` must take the same time for all texts. */
export function readDerivedKey(
  text: string,
  sign: Signer,
  isEqual: (one: Buffer, other: Buffer) => boolean,
): DerivedClaims | undefined {
  const dot = text.indexOf('.')
  if (!text.startsWith(derivedPrefix) || text.length > derivedLengthMax || dot < 0) return undefined
  const payload = text.slice(derivedPrefix.length, dot)
  const [given, expected] = [Buffer.from(text.slice(dot + 1), 'base64url'), sign(payload)]
  if (given.length !== expected.length || !isEqual(given, expected)) return undefined
  // A signed text is one of ours, perhaps of a later version with further fields, which must not be passed over.
  return claimsSchema().safeParse(JSON.parse(Buffer.from(payload, 'base64url').toString())).data
}

/** The caller with a derived key: that of the key it comes from, with the limits of each derivation. */
export function derivedCaller(parent: Caller, { links }: DerivedClaims): Caller {
  const ends = [parent.key.expiresAtMs, ...links.map(link => link.end)].filter(end => end !== null)
  const derived = links.map(
    (link): DerivedKey => ({
      ...unlimited,
      id: link.id,
      endMs: link.end,
      models: link.models ?? bareKey.models,
      ...(link.tools && { objectPermission: link.tools }),
      // A key without a maximum has a budget all the same, so that the cost of the run is counted and can be read.
      maxBudgetNanoUsd: BigInt(link.max ?? budgetNanoUsdMax),
      requestsPerMinute: link.rpm ?? null,
      tokensPerMinute: link.tpm ?? null,
      parallelRequests: link.parallel ?? null,
    }),
  )
  // It manages nothing, though its user may: what it made would not be bound by it.
  return { ...parent, role: 'key', memberships: [], key: { ...parent.key, expiresAtMs: Math.min(...ends) }, derived }
}
