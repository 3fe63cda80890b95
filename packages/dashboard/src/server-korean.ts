/** A part of its own: it is fetched on pages in Korean alone. */
export { SERVER_KOREAN } from "dure/korean";
