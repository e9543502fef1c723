import { followAll } from "./common.js";

followAll();
