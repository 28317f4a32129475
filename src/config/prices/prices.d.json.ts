/** At run time the import is the path of the list, not its content; of that the compiler would make 400,000 types. */
declare const path: string
export default path
