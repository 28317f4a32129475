/** The credentials of clouds, with the log. */
import { CloudCredentials } from '../clouds/cloud-credentials.ts'
import type { Transport } from '../core/transport.ts'
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../telemetry/log.ts'

interface Parts {
  readonly transport: Transport
  readonly clock: Clock
  readonly logger: Logger
}

/** Failed renewals are warnings while the credential before them is valid. */
export function cloudCredentials({ transport, clock, logger }: Parts): CloudCredentials {
  return new CloudCredentials({
    transport,
    clock,
    renewalFailed: ({ modelName, id }, reason) =>
      logger.warn('a credential of a cloud cannot be renewed; the one before it is used until it expires', {
        model: modelName,
        deployment: id,
        reason,
      }),
  })
}
