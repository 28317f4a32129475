/** The settings of the runtime that the gateway is measured with, as environment variables. */
export const runtimeSettings: Readonly<Record<string, string>>
/** Those of a gateway beside them. */
export const gatewaySettings: Readonly<Record<string, string>>
