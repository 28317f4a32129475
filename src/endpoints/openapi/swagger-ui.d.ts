/** Imported `with { type: 'file' }`: the path of the file. */
declare module 'swagger-ui-dist/*' {
  const path: string
  export default path
}
