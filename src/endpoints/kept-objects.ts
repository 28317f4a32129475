/**
 * What the objects have in common that are kept for each key: files, batches, assistants, threads and all below them.
 */
import type { Caller } from '../core/caller.ts'

/** A JSON object of which only some fields matter here. */
export type Fields = Record<string, unknown>

/** The paths under which clients look for them. */
export const pathsOf = (rest: string): string[] => [rest, `/v1${rest}`, `/openai/v1${rest}`]

/** Whose objects the caller sees; null = everybody's. */
export function ownerOf(caller: Caller): string | null {
  return caller.role === 'admin' ? null : caller.key.id
}
