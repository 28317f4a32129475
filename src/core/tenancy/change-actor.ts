/** Who changes something, and whether it still may is asked within the transaction of the change. */
import type { Caller } from '../caller.ts'
import type { Actor } from './tenancy.ts'

/** An actor that stands in the audit log; of a request with the caller that it was admitted for. */
export interface ChangeActor extends Actor {
  /**
   * Its rights are compared with those that it has in the transaction of the change, which is refused where it has lost
   * one. Absent = the gateway itself, a person who signs in, or the command line.
   */
  readonly caller?: Caller | undefined
}
