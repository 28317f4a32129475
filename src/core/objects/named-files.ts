import type { JsonBody } from '../../lib/json/json-body.ts'
import type { Deployment } from '../deployment.ts'

/**
 * The uploaded files that the body of a call names, found for its key. Implemented by `policies/named-files.ts`.
 */
export interface NamedFiles {
  /**
   * Those of `group`, the deployments of `model`, that can be given all of the files. Rejects with `unprocessable`, or
   * with the error of the upstream from which a file must be fetched, when there are none.
   */
  among(group: readonly Deployment[], model: string): Promise<readonly Deployment[]>
  /** The body of the call as one of those deployments understands it. */
  bodyFor(deployment: Deployment): JsonBody
  /** The upstream's id, which is never shown -> the gateway's. */
  readonly localIds: ReadonlyMap<string, string>
}
