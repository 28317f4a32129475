/** The settings of the runtime that the gateway is measured with, as environment variables. */
export const runtimeSettings: Readonly<Record<string, string>>
