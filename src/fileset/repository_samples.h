// For tests: small made-up datasets in repositories, as the documentation of each describes the
// answers of its API.
#pragma once

#include "fileset/platform_sample.h"

namespace quern::fileset {

// https://guides.dataverse.org/en/latest/api/native-api.html
inline Sample dataverse_sample() {
  return {"dataverse",
          "https://data.example.edu/dataset.xhtml?persistentId=doi:10.5072/FK2/ABCDEF",
          "",
          {{"https://data.example.edu/api/datasets/:persistentId/?persistentId="
            "doi:10.5072/FK2/ABCDEF",
            R"({"status":"OK","data":{"id":7,"identifier":"FK2/ABCDEF","protocol":"doi",
"authority":"10.5072","latestVersion":{"id":9,"datasetPersistentId":"doi:10.5072/FK2/ABCDEF",
"versionNumber":2,"versionMinorNumber":1,"versionState":"RELEASED",
"releaseTime":"2024-03-01T10:00:00Z","license":{"name":"CC0","uri":"https://cc0.example"},
"termsOfUse":"Be kind","metadataBlocks":{"citation":{"fields":[
{"typeName":"title","value":"Leaves"},
{"typeName":"author","value":[{"authorName":{"value":"Doe, Jane"}}]},
{"typeName":"depositor","value":"Roe"},
{"typeName":"dsDescription","value":[{"dsDescriptionValue":{"value":"Of trees"}}]}]}},
"files":[
{"label":"leaves.tab","directoryLabel":"data/raw","restricted":false,"version":2,
"dataFile":{"id":101,"persistentId":"doi:10.5072/FK2/ABCDEF/GHIJKL","filename":"leaves.tab",
"contentType":"text/tab-separated-values","filesize":999,"description":"Table",
"originalFileName":"leaves.csv","originalFileSize":700,"originalFileFormat":"text/csv",
"md5":"0cc175b9c0f1b6a831c399e269772661",
"checksum":{"type":"MD5","value":"0cc175b9c0f1b6a831c399e269772661"}}},
{"label":"readme.txt","restricted":false,"version":1,
"dataFile":{"id":102,"persistentId":"","filename":"readme.txt","contentType":"text/plain",
"filesize":12,"checksum":{"type":"SHA-1",
"value":"86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"}}}]}}})"}}};
}

// https://docs.figshare.com
inline Sample figshare_sample() {
  return {"figshare",
          "https://figshare.com/articles/software/Some_code/4242/3",
          "",
          {{"https://api.figshare.com/v2/articles/4242/versions/3",
            R"({"id":4242,"version":3,"is_public":true,"is_embargoed":false,"embargo_date":null,
"is_confidential":false,"title":"Some code","doi":"10.6084/m9.figshare.4242.v3",
"published_date":"2024-01-02T00:00:00Z","description":"<p>Code</p>",
"url_public_html":"https://figshare.com/articles/software/Some_code/4242",
"license":{"value":1,"name":"MIT","url":"https://mit.example"},
"authors":[{"id":1,"full_name":"Jane Doe"}],
"files":[{"id":11,"name":"a.zip","size":10,"is_link_only":false,"mimetype":"application/zip",
"computed_md5":"0cc175b9c0f1b6a831c399e269772661","supplied_md5":"",
"download_url":"https://ndownloader.figshare.com/files/11"},
{"id":12,"name":"b.txt","size":0,"is_link_only":false,"computed_md5":"",
"supplied_md5":"0cc175b9c0f1b6a831c399e269772661",
"download_url":"https://ndownloader.figshare.com/files/12"}]})"}}};
}

// https://developers.zenodo.org
inline Sample zenodo_sample() {
  return {"zenodo",
          "https://zenodo.org/records/4711",
          "",
          {{"https://zenodo.org/api/records/4711",
            R"({"id":4711,"conceptrecid":"4710","doi":"10.5281/zenodo.4711","revision":5,
"links":{"self_html":"https://zenodo.org/records/4711",
"archive":"https://zenodo.org/api/records/4711/files-archive"},
"metadata":{"title":"Rocks","access_right":"open","creators":[{"name":"Doe, Jane"}],
"publication_date":"2024-05-06","description":"Stones","version":"1.2"},
"files":[{"id":"x","key":"a/b.csv","size":5,"checksum":"md5:0cc175b9c0f1b6a831c399e269772661",
"links":{"self":"https://zenodo.org/api/records/4711/files/a%2Fb.csv/content"}},
{"id":"y","key":"c.bin","size":6,
"checksum":"sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
"links":{"self":"https://zenodo.org/api/records/4711/files/c.bin/content"}}]})"}}};
}

// https://inveniordm.docs.cern.ch/reference/rest_api_drafts_records/
inline Sample invenio_sample() {
  return {"zenodo",
          "https://repo.example.org/records/82kn8-3nk04",
          "<html><body class=invenio-theme></body></html>",
          {{"https://repo.example.org/api/records/82kn8-3nk04",
            R"({"id":"82kn8-3nk04","revision_id":4,"parent":{"id":"abcde-00000"},
"pids":{"doi":{"identifier":"10.1234/82kn8-3nk04","provider":"datacite"}},
"access":{"record":"public","files":"public","embargo":{"active":false},"status":"open"},
"links":{"self_html":"https://repo.example.org/records/82kn8-3nk04",
"archive":"https://repo.example.org/api/records/82kn8-3nk04/files-archive"},
"metadata":{"title":"Waves","creators":[{"person_or_org":{"name":"Roe, Rick"}}],
"publication_date":"2025","rights":[{"id":"cc-by-4.0"}]},
"files":{"enabled":true,"count":1,"entries":{"w.nc":{"key":"w.nc","size":8,
"mimetype":"application/x-netcdf","checksum":"md5:0cc175b9c0f1b6a831c399e269772661",
"links":{"self":"https://repo.example.org/api/records/82kn8-3nk04/files/w.nc",
"content":"https://repo.example.org/api/records/82kn8-3nk04/files/w.nc/content"}}}}})"}}};
}

// https://archive.org/developers/md-read.html
inline Sample archiveorg_sample() {
  return {"archiveorg",
          "https://archive.org/details/Cat_Pictures",
          "",
          {{"https://archive.org/metadata/Cat_Pictures",
            R"({"created":1,"is_dark":false,"metadata":{"identifier":"Cat_Pictures",
"mediatype":"data","title":"Cats","collection":["datasets"]},"files":[
{"name":"one cat.csv","source":"original","format":"CSV","size":"100",
"md5":"0cc175b9c0f1b6a831c399e269772661","sha1":"86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"},
{"name":"two.parquet","source":"original","format":"Parquet","size":"200",
"md5":"0cc175b9c0f1b6a831c399e269772661","sha1":"86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"},
{"name":"one cat_thumb.jpg","source":"derivative","format":"JPEG","size":"3"},
{"name":"Cat_Pictures_meta.sqlite","source":"original","format":"Metadata","size":"4"},
{"name":"Cat_Pictures_files.xml","source":"metadata","format":"Metadata"}]})"}}};
}

}  // namespace quern::fileset
